"""Which ONUs the parts of an execution can ask about, as its earlier parts found them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from facho.engine.collect.work import KnownOnu
from facho.vendors import Facts, Key, State

Known = Mapping[Key, KnownOnu]


def discovered(known: Known, onus: Facts, *, has_gaps: bool = False) -> Known:
    """After a complete discovery: these, and those that discoveries never have. If some of its rows could not
    be read, whoever was known before is still there.
    """
    others = {key: onu for key, onu in known.items() if has_gaps or onu.undiscovered}
    return {**others, **{onu.key: onu for onu in _seen(known, onus)}}


def updated(known: Known, onus: Facts) -> Known:
    """After any other part. What it did not see is still there, and what is new waits for a discovery."""
    seen = {onu.key: onu for onu in _seen(known, onus) if onu.key in known}
    # The index of a discovery counts more than that of another table.
    kept = {key: replace(onu, index=known[key].index or onu.index) for key, onu in seen.items()}
    return {**known, **kept}


def _seen(known: Known, onus: Facts) -> Iterator[KnownOnu]:
    states = onus.columns.get("state") or [None] * len(onus)
    rows = zip(onus.keys, onus.indexes, onus.technologies, states, strict=True)
    for key, index, technology, state in rows:
        before = known.get(key) or KnownOnu(key)
        # An OLT that could not say keeps what was known.
        online = state.meaning == "online" if isinstance(state, State) else before.online
        yield replace(
            before,
            technology=technology or before.technology,
            online=online,
            index=index or before.index,
        )
