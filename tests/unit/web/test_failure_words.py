"""What the inner layers say in English is said to a reader of Spanish in Spanish."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.utils import translation

from facho import snmp
from facho.apps.executions.failure_words import translated
from facho.core.chain import ChainError, check_master
from facho.core.interval import BadInterval, parse_interval
from facho.engine.collect.onu_read import ANOTHER, NEEDS_WALK, NO_VALUE, NOT_ONLINE, NOT_THERE
from facho.snmp import errors
from facho.vendors import Identity, builtin, detect

SOURCES = Path(snmp.__file__).parent
# Of messages that make no sense, what is wrong with their octets is for who reads English standards.
NOT_FOR_PEOPLE = {"BerError", "BadOid", "ClientClosed"}
# What stands for a variable, where it is more than a name or a number.
STANDS_FOR = {
    "where": "after row 1.2",
    "place": "at its first row",
    "went": "its sysUpTime went from 9 s to 1 s",
    "what": "the value",
    "self._who": "1.3.6.1: 10.0.0.1:161",
    "hint": ": who asks may not read this",
}
SILENT = (
    "no answer from 10.0.0.1:161 to 3 requests in 9 s: "
    "it is off or unreachable, or does not accept this community and version"
)
SILENCIO = (
    "sin respuesta de 10.0.0.1:161 a 3 peticiones en 9 s: "
    "está apagado o no es alcanzable, o no acepta esta comunidad y versión"
)


@pytest.fixture(autouse=True)
def _in_spanish() -> Iterator[None]:
    with translation.override("es"):
        yield


def written(text: ast.JoinedStr) -> str:
    return "".join(map(_piece, text.values))


def _piece(part: ast.expr) -> str:
    if isinstance(part, ast.FormattedValue):
        return STANDS_FOR.get(ast.unparse(part.value), "7")
    return str(ast.literal_eval(part))


def sentences_of_snmp() -> Iterator[str]:
    people = {name for name in vars(errors) if name[0].isupper()} - NOT_FOR_PEOPLE
    for path in ("get.py", "peer.py", "requester.py", "v3.py", "walk.py"):
        for node in ast.walk(ast.parse((SOURCES / path).read_text("utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in people:
                yield from (written(each) for each in node.args[:1] if isinstance(each, ast.JoinedStr))


@pytest.mark.parametrize("sentence", sorted(set(sentences_of_snmp())))
def test_what_snmp_complains_about_has_its_spanish(sentence: str) -> None:
    assert translated(sentence) != sentence


@pytest.mark.parametrize("reason", [NEEDS_WALK, NOT_THERE, NOT_ONLINE, NO_VALUE, ANOTHER])
def test_why_a_fact_was_not_read_has_its_spanish(reason: str) -> None:
    assert translated(reason) != reason


@pytest.mark.parametrize(
    ("said", "spanish"),
    [
        ("", ""),
        (SILENT, SILENCIO),
        ("not finished within the time limit of 0.4 s", "no terminó dentro del límite de 0,4 s"),
        (
            f"1.3.6.1: 10.0.0.1:161 is alive but stays silent at its first row ({SILENT})",
            f"1.3.6.1: 10.0.0.1:161 está activo pero no contesta en la primera fila ({SILENCIO})",
        ),
        (
            "10.0.0.1:161 sent more than 900 octets, and was not asked for more; "
            "if it has this many, raise FACHO_WALK_ROWS for the rows of a column, "
            "or FACHO_ANSWER_OCTETS for octets",
            "10.0.0.1:161 envió más de 900 octetos, y no se le preguntó más; si tiene tantos, aumente "
            "FACHO_WALK_ROWS para las filas de una columna, o FACHO_ANSWER_OCTETS para los octetos",
        ),
        (
            "no answer from 10.0.0.1:161 to 1 request in 0.5 s; "
            "an answer came from 10.0.0.2:161 instead: ask at that address",
            "sin respuesta de 10.0.0.1:161 a 1 petición en 0,5 s; "
            "en cambio llegó una respuesta de 10.0.0.2:161: consulte a esa dirección",
        ),
        (
            "1,200 of 2,000 ONUs did not answer, and no more than 20 % may; the first is 0/1/3:7: "
            "the OLT gave no value; table not present: onu_optics",
            "1200 de 2000 ONUs no contestaron, y se admite como máximo el 20 %; la primera es 0/1/3:7: "
            "la OLT no dio ningún valor; la OLT no tiene la tabla: onu_optics",
        ),
        (f"the OLT was suspended: {SILENT}", f"se suspendió la OLT: {SILENCIO}"),
        # What nobody foresaw stays what it is, and what stands beside it is said all the same.
        ("strange; the OLT was disabled", "strange; se deshabilitó la OLT"),
        ("50 % of %(olt)s", "50 % of %(olt)s"),
    ],
)
def test_sentences_are_said_again_with_what_is_in_them(said: str, spanish: str) -> None:
    assert translated(said) == spanish
    with translation.override("en"):
        assert translated(said).replace("1200 of 2000", "1,200 of 2,000") == said


@pytest.mark.parametrize(
    ("object_id", "descr", "spanish"),
    [
        ("1.3.6.1.4.1.2011.2.115", "", "su sysObjectID"),
        ("1.3.6.1.4.1.99999", "a toaster", "ningún perfil conoce al fabricante del sysObjectID"),
        ("", "", "no dice su sysObjectID"),
    ],
)
def test_how_an_olt_was_recognised_is_told_in_spanish(object_id: str, descr: str, spanish: str) -> None:
    assert translated(detect(Identity(object_id, descr), {}, builtin()).why).startswith(spanish)


@pytest.mark.parametrize("text", ["5 min", "0s", "9999d"])
def test_an_interval_is_refused_in_spanish(text: str) -> None:
    with pytest.raises(BadInterval) as refused:
        parse_interval(text)
    assert "intervalo" in translated(str(refused.value))


@pytest.mark.parametrize(
    ("job", "masters"), [(1, {1: None}), (1, {1: None, 2: 3}), (1, {1: None, 3: 1, 2: None})]
)
def test_a_chain_is_refused_in_spanish(job: int, masters: dict[int, int | None]) -> None:
    with pytest.raises(ChainError) as refused:
        check_master(job, 2 if 2 in masters else 1, masters, {1: "a", 2: "b", 3: "c"})
    assert translated(str(refused.value)) != str(refused.value)


def test_a_text_without_end_is_shown_as_it_is() -> None:
    endless = "a: b; " * 100_000
    assert translated(endless) == endless
