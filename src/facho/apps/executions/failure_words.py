"""What went wrong, in the words of who reads it.

The layers that decide and that ask OLTs know no languages: they write English sentences, and so these are
stored. Here is the form of each, by which it is recognised and said again. What has no form stays as it is.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from django.utils.formats import localize
from django.utils.translation import gettext, gettext_noop

# Sentences are put one after another with this between them.
_BETWEEN: Final = "; "
# A sentence within the sentence; it may be several. It comes last, or in parentheses.
_SENTENCE: Final = "why"
_NUMBERS: Final = frozenset(
    {"number", "total", "count", "sent", "seconds", "before", "after", "percent", "more", "most"}
)
_DIGITS: Final = re.compile(r"\d+(\.\d+)?")
# More than any of our sentences has.
_LONGEST: Final = 2_000
_PLACE: Final = re.compile(r"%\((\w+)\)s")

SILENCES: Final = (
    gettext_noop("no answer from %(olt)s to %(sent)s request in %(seconds)s s: %(why)s"),
    gettext_noop("no answer from %(olt)s to %(sent)s requests in %(seconds)s s: %(why)s"),
    gettext_noop(
        "no answer from %(olt)s to %(sent)s request in %(seconds)s s; "
        "an answer came from %(other)s instead: ask at that address"
    ),
    gettext_noop(
        "no answer from %(olt)s to %(sent)s requests in %(seconds)s s; "
        "an answer came from %(other)s instead: ask at that address"
    ),
    gettext_noop("it is off or unreachable, or does not accept this community and version"),
    gettext_noop("its answers came in another community, and were not taken"),
    gettext_noop("it is off or unreachable, or does not speak SNMPv3"),
    gettext_noop("it went off or unreachable"),
    gettext_noop("it went off or unreachable, or %(why)s"),
    gettext_noop("the privacy password or protocol is not what it expects"),
    gettext_noop("the privacy password or protocol is not what it expects, or %(why)s"),
    gettext_noop("it does not have this context"),
    gettext_noop("nothing listens on UDP port %(port)s of %(olt)s: the host refused"),
    gettext_noop(
        "%(olt)s: it does not answer SNMP version %(version)s, "
        "but it answers version %(other)s: choose that one"
    ),
    gettext_noop("cannot send to %(olt)s: %(why)s"),
    gettext_noop("Network is unreachable"),
    gettext_noop("No route to host"),
    gettext_noop("Permission denied"),
    gettext_noop("%(column)s: %(olt)s is alive but stays silent at its first row (%(why)s)"),
    gettext_noop("%(column)s: %(olt)s is alive but stays silent after row %(row)s (%(why)s)"),
    gettext_noop("the OLT does not answer when it is asked for this ONU, and does otherwise"),
    gettext_noop("no answer together with others; not asked alone, for too many did not answer"),
)
REFUSALS: Final = (
    gettext_noop("the name '%(name)s' does not resolve to an address"),
    gettext_noop("%(olt)s does not know this SNMPv3 user: check its name"),
    gettext_noop("%(olt)s says that the signature is wrong: check the authentication password and protocol"),
    gettext_noop("%(olt)s could not decrypt the request: check the privacy password and protocol"),
    gettext_noop("%(olt)s does not offer this security level to this SNMPv3 user"),
    gettext_noop("%(olt)s keeps saying that our clock of it is wrong"),
    gettext_noop("%(olt)s keeps saying that its engine id is another one"),
    gettext_noop("%(olt)s sent a report that SNMPv3 does not define"),
    gettext_noop("%(olt)s refused the value with %(error)s: who asks may not read this"),
    gettext_noop("%(olt)s refused the value with %(error)s"),
    gettext_noop("%(olt)s refused the walk of %(column)s with %(error)s: who asks may not read this"),
    gettext_noop("%(olt)s refused the walk of %(column)s with %(error)s"),
    gettext_noop("%(olt)s says that even %(oid)s alone is too big to answer"),
    gettext_noop("%(column)s: %(olt)s says that even one row is too big to answer"),
    gettext_noop("%(olt)s answered with a broken message: %(why)s"),
    gettext_noop("%(olt)s fails (genErr) on it"),
    gettext_noop("%(column)s: %(olt)s fails (genErr) on everything before its first readable row"),
    gettext_noop("%(column)s: %(olt)s fails (genErr) on everything after row %(row)s"),
    gettext_noop(
        "%(column)s: %(olt)s fails (genErr) on the row before its first readable row, up to row %(until)s"
    ),
    gettext_noop("%(column)s: %(olt)s fails (genErr) on the row after row %(row)s, up to row %(until)s"),
    gettext_noop("%(column)s: %(olt)s fails (genErr) in more than %(most)s places, and the walk was ended"),
    gettext_noop("%(column)s: %(olt)s gave rows again that it had given before, near row %(row)s"),
    gettext_noop("%(column)s: %(olt)s gave more than %(most)s rows, and the walk was ended"),
    gettext_noop("%(olt)s sent more than %(most)s octets, and was not asked for more"),
    gettext_noop(
        "if it has this many, raise FACHO_WALK_ROWS for the rows of a column, "
        "or FACHO_ANSWER_OCTETS for octets"
    ),
    gettext_noop("%(column)s: %(olt)s went back to before the column; its end was not seen"),
    gettext_noop("%(olt)s restarted during the walk: its sysUpTime went from %(before)s s to %(after)s s"),
)
TIMES: Final = (
    gettext_noop("not finished within the time limit of %(seconds)s s"),
    gettext_noop("%(olt)s: the values were not all read in %(seconds)s s"),
    gettext_noop("%(olt)s: the walk was not finished in %(seconds)s s"),
    gettext_noop("not run: the time limit of %(seconds)s s was over"),
)
PARTS: Final = (
    gettext_noop("table not present: %(tables)s"),
    gettext_noop("not run: %(job)s failed"),
    gettext_noop("not run: %(job)s was skipped"),
    gettext_noop("not run: the OLT stopped answering during %(job)s"),
    gettext_noop("skipped: OLT CPU too high"),
    gettext_noop("and %(more)s more"),
    gettext_noop(
        "%(number)s of %(total)s ONUs did not answer, and no more than %(percent)s %% may; "
        "the first is %(onu)s: %(why)s"
    ),
    gettext_noop("none of the %(number)s rows could be read; the first: %(problem)s"),
    gettext_noop("of %(total)s rows of own OIDs the first %(number)s were kept"),
    gettext_noop("%(name)s: there is no value at %(oid)s; a subtree takes the kind walk"),
    gettext_noop("%(name)s: %(oid)s is not asked for, because %(never)s is never read (%(reason)s)"),
    gettext_noop(
        "%(name)s: the OLT reads it from the ONUs one by one; "
        "ask for it with the kind get, of those that are online"
    ),
    gettext_noop("%(name)s: it is not about ONUs; use the kind table or walk"),
    gettext_noop(
        "%(name)s: a row of the table %(table)s cannot be asked for by the ONU's place; use the kind table"
    ),
    gettext_noop("its index in the table %(table)s cannot be told from its place"),
    gettext_noop("not asked: OLTs of the family '%(family)s' have nothing for it"),
    gettext_noop("%(name)s: OLTs of the family '%(family)s' have nothing that could be asked so"),
)
READINGS: Final = (
    gettext_noop("the OLT would have to be walked for it"),
    gettext_noop("the OLT does not have it"),
    gettext_noop("not asked, for the ONU is not online"),
    gettext_noop("the OLT gave no value"),
    gettext_noop("another ONU is at its place now: nothing was stored"),
    gettext_noop("the ONU is at no place any more"),
    gettext_noop("OLTs of the family '%(family)s' tell nothing of one ONU without being walked"),
)
ENDINGS: Final = (
    gettext_noop("a person aborted it"),
    gettext_noop("the OLT was disabled"),
    gettext_noop("the OLT is under maintenance"),
    gettext_noop("the OLT was suspended: %(why)s"),
    gettext_noop("the job was disabled"),
    gettext_noop("the node was disabled"),
    gettext_noop("it runs after %(job)s"),
    gettext_noop("handed back: the process stopped"),
    gettext_noop("the process stopped"),
    gettext_noop("the process that asked for it disappeared"),
    gettext_noop("the process that ran it disappeared (%(worker)s)"),
    gettext_noop("internal error, see the log: %(error)s"),
)
DETECTIONS: Final = (
    gettext_noop("its sysObjectID %(oid)s and its sysDescr are those of %(what)s, and %(why)s"),
    gettext_noop("its sysObjectID %(oid)s and its sysDescr are those of %(what)s"),
    gettext_noop("its sysObjectID %(oid)s is that of %(what)s, which is no OLT"),
    gettext_noop("its sysObjectID %(oid)s is that of %(what)s, and %(why)s"),
    gettext_noop("its sysObjectID %(oid)s is that of %(what)s"),
    gettext_noop("its sysObjectID %(oid)s is one of %(what)s, and %(why)s"),
    gettext_noop("its sysObjectID %(oid)s is one of %(what)s"),
    gettext_noop("its sysDescr is that of %(what)s, and %(why)s"),
    gettext_noop("its sysDescr is that of %(what)s"),
    gettext_noop("it says %(text)s in %(oid)s"),
    gettext_noop("it has rows in %(oid)s, a table of %(what)s"),
    gettext_noop("it does not say its sysObjectID, by which OLTs are known"),
    gettext_noop("no profile knows the maker of sysObjectID %(oid)s"),
    gettext_noop(
        "its sysObjectID %(oid)s and its sysDescr are of no OLT that is known; OLTs of %(makers)s "
        "begin with the same %(company)s, and so do switches and routers"
    ),
    gettext_noop("it could be %(what)s: choose one of them for it"),
    gettext_noop("it could be %(what)s, but it says %(text)s, which those do not"),
    gettext_noop("it could be %(what)s, but it has no rows in %(oid)s, as those have"),
    gettext_noop("or %(what)s, but it says %(text)s, which those do not"),
    gettext_noop("or %(what)s, but it has no rows in %(oid)s, as those have"),
)
REFUSED_INPUT: Final = (
    gettext_noop("%(job)s cannot run after itself: choose another job"),
    gettext_noop(
        "%(job)s itself runs after %(master)s, and chains have one level: "
        "choose %(other)s or a job that runs after no other"
    ),
    gettext_noop(
        "%(job)s has jobs that run after it (%(jobs)s), and chains have one level: "
        "let them run after %(master)s instead, or alone"
    ),
    gettext_noop("%(text)s is not an interval: write a whole number and s, m, h or d, as in 5m"),
    gettext_noop("%(text)s is no time at all: an interval must be at least 1s"),
    gettext_noop("%(text)s is too long: an interval may be up to %(longest)s"),
)
FORMS: Final = (*REFUSED_INPUT, *DETECTIONS, *SILENCES, *REFUSALS, *TIMES, *PARTS, *READINGS, *ENDINGS)


def translated(said: str) -> str:
    """Sentences of an inner layer in the reader's language, as far as their form is known."""
    pieces = said.split(_BETWEEN) if len(said) <= _LONGEST else [said]
    found: list[str] = []
    while pieces:
        # Of what is not known, the next one may be.
        text, taken = _one(pieces[0]), 1
        if text is None and len(pieces) > 1:
            text, taken = _one(_BETWEEN.join(pieces[:2])), 2
        found.append(gettext(pieces[0]) if pieces[0] and text is None else text or "")
        del pieces[: 1 if text is None else taken]
    return _BETWEEN.join(found)


def _one(sentence: str) -> str | None:
    for form, pattern in _patterns():
        if match := pattern.fullmatch(sentence):
            return gettext(form) % {
                name: _said_again(name, value) for name, value in match.groupdict().items()
            }
    return None


def _said_again(name: str, value: str) -> str:
    if name == _SENTENCE:
        return translated(value)
    return _number(value) if name in _NUMBERS else value


def _number(written: str) -> str:
    plain = written.replace(",", "")
    return (
        str(localize(float(plain) if "." in plain else int(plain))) if _DIGITS.fullmatch(plain) else written
    )


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((form, re.compile(_pattern(form))) for form in FORMS)


def _pattern(form: str) -> str:
    texts = [re.escape(text.replace("%%", "%")) for text in _PLACE.split(form)[::2]]
    names = _PLACE.findall(form)
    places = [f"(?P<{name}>{'.+' if name == _SENTENCE else '[^;]+?'})" for name in names]
    return "".join(text + place for text, place in zip(texts, [*places, ""], strict=True))
