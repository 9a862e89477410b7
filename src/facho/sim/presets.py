"""Named scenarios, and their combination on the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from facho.sim.model import DAY
from facho.sim.scenario import Attack, BadKnob, Scenario
from facho.sim.traffic import CounterFault


class UnknownScenario(ValueError):
    """An unknown scenario or knob, or a bad value; the message says which are known."""


@dataclass(frozen=True, slots=True)
class Preset:
    what: str
    scenario: Scenario


def _counters(fault: CounterFault) -> Scenario:
    return Scenario(counter_faults=(fault,))


WELL_MEANT: Final[Mapping[str, Preset]] = {
    "plain": Preset("answers at once and well", Scenario()),
    "slow": Preset(
        "one slow CPU: 3 ms a request, 0.2 ms a value, 1.5 ms more for optics; drops when 12 wait",
        Scenario(request_s=0.003, varbind_s=0.0002, optics_s=0.0015, queue=12),
    ),
    "far": Preset("40 ms away, give or take", Scenario(latency_s=0.04, jitter_s=0.02)),
    "lossy": Preset(
        "loses 5 % of the requests and 5 % of the answers", Scenario(request_loss=0.05, answer_loss=0.05)
    ),
    "flaky": Preset(
        "loses, delays, duplicates and reorders a few answers",
        Scenario(
            request_loss=0.02, answer_loss=0.02, duplicate=0.02, reorder=0.05, latency_s=0.002, jitter_s=0.01
        ),
    ),
    "duplicating": Preset("sends every fifth answer twice", Scenario(duplicate=0.2)),
    "reordering": Preset("delays every fifth answer past the next ones", Scenario(reorder=0.2)),
    "toobig": Preset("refuses answers of more than 20 values with tooBig", Scenario(toobig_varbinds=20)),
    "small": Preset("has room for 1,400 octets: answers have fewer rows", Scenario(max_message=1400)),
    "generr": Preset("fails with genErr on rows 20 and 33", Scenario(generr_rows=(20, 33))),
    "repeating": Preset("gives row 40 again and again", Scenario(repeat_row=40)),
    "cycling": Preset("goes back from row 40 to row 10", Scenario(repeat_row=40, repeat_back_to=10)),
    "disordered": Preset("gives row 31 before row 30", Scenario(swap_rows=(30, 31))),
    "zero-hang": Preset(
        "does not answer a GETBULK for 0 repetitions", Scenario(hang_on_zero_repetitions=True)
    ),
    "truncated": Preset("cuts every answer at 400 octets", Scenario(truncate_at=400)),
    "corrupt": Preset(
        "damages one octet in every tenth answer, so that it is no BER any more", Scenario(corrupt=0.1)
    ),
    "other-port": Preset("answers from another port", Scenario(other_port=True)),
    "other-address": Preset("answers from another address", Scenario(other_address=True)),
    "wrong-id": Preset("answers with the id of another request", Scenario(wrong_id=1.0)),
    "restarting": Preset("restarts after 30 requests, silent for 2 s", Scenario(restart_after=30)),
    "silent": Preset("never answers", Scenario(silent=True)),
    "stuck-rows": Preset("does not answer when asked for row 20", Scenario(silent_rows=(20,))),
    "churning": Preset("hides other rows after every 10 requests", Scenario(churn_every=10)),
    "fragments-lost": Preset("loses answers of more than 1,472 octets", Scenario(lose_answers_over=1472)),
    "flapping": Preset("a tenth of its ONUs go and come back, with a cause", Scenario(flapping=0.1)),
    "fibre-cut": Preset("the fibre of its first PON port is cut", Scenario(fibre_cut_ports=(0,))),
    "power-cut": Preset("the ONUs of its first PON port have no power", Scenario(power_cut_ports=(0,))),
    "dim": Preset("the fibre of its first PON port is bent: 6 dB less light", Scenario(dim_ports=(0,))),
    "counters-back": Preset(
        "its counters go back every ten minutes, by half of what they moved", _counters(CounterFault.BACK)
    ),
    "counters-jump": Preset(
        "its counters jump up by 2^42 for ten minutes, and back", _counters(CounterFault.JUMP)
    ),
    "counters-repeat": Preset(
        "its counters stand for ten minutes of every twenty", _counters(CounterFault.REPEAT)
    ),
    "counters-gone": Preset(
        "its counters are not there for ten minutes of every twenty", _counters(CounterFault.GONE)
    ),
    "counters-narrow": Preset("its counters have 32 bits", _counters(CounterFault.NARROW)),
    "counters-widen": Preset(
        "its counters have 32 bits for ten minutes, then 64, in turns", _counters(CounterFault.WIDEN)
    ),
    "old-clock": Preset("its clock is 24 years behind", Scenario(clock_behind_s=24 * 365.25 * DAY)),
    "drifting": Preset("optical power wanders by 3 dB within 10 minutes", Scenario(drift_db=3.0)),
}

_ATTACKS: Final[Mapping[Attack, str]] = {
    Attack.ENDLESS_TABLE: "its ONU tables never end: each row is followed by another",
    Attack.HUGE_OIDS: "answers with OIDs of 60,000 octets",
    Attack.LONG_OIDS: "answers with OIDs of 2,100 octets",
    Attack.LARGE_ARCS: "answers with OIDs that have a number over 4294967295",
    Attack.NEW_SHAPES: "each row of its ONU tables has an index of another length",
    Attack.ODD_INDEXES: "two of five rows of its ONU tables have an index that is no place of an ONU",
    Attack.BAD_ROWS: "fails with genErr after the first row of its ONU tables, wherever a walk goes on",
    Attack.HUGE_VALUES: "answers with strings of 60,000 octets",
    Attack.WRONG_COMMUNITY: "answers SNMPv1 and v2c in another community",
    Attack.FORGED_REPORTS: "unsigned SNMPv3 reports come before each of its answers",
}

# They attack who asks: the rows that they give need not exist, and a walk need not end by itself.
HOSTILE: Final[Mapping[str, Preset]] = {
    **{attack.value: Preset(what, Scenario(attacks=(attack,))) for attack, what in _ATTACKS.items()},
    "flood": Preset(
        "sends 1,000 datagrams a second that nobody asked for, from the first request on",
        Scenario(flood_per_s=1000.0),
    ),
    "hostile": Preset(
        "all of these attacks in turns, and 500 datagrams a second that nobody asked for",
        Scenario(attacks=tuple(Attack), flood_per_s=500.0),
    ),
}

PRESETS: Final[Mapping[str, Preset]] = {**WELL_MEANT, **HOSTILE}


def combine(names: Iterable[str] = (), settings: Iterable[str] = ()) -> Scenario:
    """Combine presets in their order, then single knobs written `name=value`."""
    knobs: dict[str, Any] = {}
    for name in names:
        if name not in PRESETS:
            raise UnknownScenario(f"there is no scenario '{name}': take {', '.join(PRESETS)}")
        knobs.update(PRESETS[name].scenario.changed())
    for setting in settings:
        knobs.update([_knob(setting)])
    try:
        return Scenario(**knobs)
    except BadKnob as error:
        raise UnknownScenario(str(error)) from error


def _knob(setting: str) -> tuple[str, Any]:
    name, equals, text = setting.partition("=")
    kinds = {field.name: str(field.type) for field in fields(Scenario)}
    if not equals or name not in kinds:
        raise UnknownScenario(f"'{setting}' sets no knob: write name=value, with one of {', '.join(kinds)}")
    try:
        return name, _READERS[kinds[name]](text)
    except ValueError as error:
        raise UnknownScenario(
            f"'{text}' is no value for {name}, which takes {_WORDS[kinds[name]]}"
        ) from error


def _switch(text: str) -> bool:
    if text.lower() not in ("yes", "no", "true", "false", "1", "0", "on", "off"):
        raise ValueError(text)
    return text.lower() in ("yes", "true", "1", "on")


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(",") if part)


def _names(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


_READERS: Final[Mapping[str, Callable[[str], Any]]] = {
    "float": float,
    "int": int,
    "int | None": int,
    "bool": _switch,
    "tuple[int, ...]": _numbers,
    "tuple[str, ...]": _names,
}
_WORDS: Final[Mapping[str, str]] = {
    "float": "a number",
    "int": "a whole number",
    "int | None": "a row number",
    "bool": "yes or no",
    "tuple[int, ...]": "numbers with commas",
    "tuple[str, ...]": "names with commas",
}
