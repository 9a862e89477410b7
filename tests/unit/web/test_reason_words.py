"""What the inner layers have as a value is said to a reader of Spanish in Spanish."""

from collections.abc import Iterator

import pytest
from django.utils import translation

from facho.apps.reason_words import reason_words
from facho.core.chain import ChainError, check_master
from facho.core.interval import BadInterval, parse_interval
from facho.core.reason_texts import SEVERAL, TEMPLATES, TEXT
from facho.core.reasons import NO_REASON, Reason, several, text_reason
from facho.vendors import Identity, builtin, detect

SILENT = Reason.of(
    "no_answer", olt="10.0.0.1:161", sent=3, seconds=9.0, why=Reason.of("off_or_other_community")
)
SILENCIO = (
    "sin respuesta de 10.0.0.1:161 a 3 peticiones en 9 s: "
    "está apagada o es inalcanzable, o no acepta esta comunidad y versión"
)


@pytest.fixture(autouse=True)
def _in_spanish() -> Iterator[None]:
    with translation.override("es"):
        yield


@pytest.mark.parametrize("code", sorted(TEMPLATES.keys() - {TEXT, SEVERAL}))
def test_every_reason_has_its_spanish(code: str) -> None:
    for count in (1, 2):
        template = TEMPLATES[code]
        reason = Reason(code, ((template.counted, count),) if template.counted else ())
        assert reason_words(reason) != str(reason)


@pytest.mark.parametrize(
    ("reason", "spanish"),
    [
        (NO_REASON, ""),
        (SILENT, SILENCIO),
        (Reason.of("time_limit", seconds=0.4), "no terminó dentro del límite de 0,4 s"),
        (
            Reason.of("silent_at_first_row", column="1.3.6.1", olt="10.0.0.1:161", why=SILENT),
            f"1.3.6.1: 10.0.0.1:161 está activa pero no responde en la primera fila ({SILENCIO})",
        ),
        (
            several([Reason.of("too_many_octets", olt="10.0.0.1:161", most=900), Reason.of("raise_limits")]),
            "10.0.0.1:161 envió más de 900 octetos, y no se le preguntó más; si de verdad tiene tantos, "
            "aumente FACHO_WALK_ROWS para las filas de una columna, o FACHO_ANSWER_OCTETS para los octetos",
        ),
        (
            Reason.of("answer_from_elsewhere", olt="10.0.0.1:161", sent=1, seconds=0.5, other="10.0.0.2:161"),
            "sin respuesta de 10.0.0.1:161 a 1 petición en 0,5 s; "
            "en cambio llegó una respuesta de 10.0.0.2:161: consulte a esa dirección",
        ),
        (
            several(
                [
                    Reason.of(
                        "too_many_silent_onus",
                        number=1200,
                        total=2000,
                        percent=20.0,
                        onu="0/1/3:7",
                        why=Reason.of("no_value"),
                    ),
                    Reason.of("table_not_present", tables="onu_optics"),
                ]
            ),
            "1.200 de 2.000 ONUs no respondieron, y se admite como máximo el 20 %; la primera es 0/1/3:7: "
            "la OLT no dio ningún valor; la OLT no tiene la tabla: onu_optics",
        ),
        (Reason.of("olt_suspended", why=SILENT), f"se suspendió la OLT: {SILENCIO}"),
        # What nobody foresaw stays what it is, and what stands beside it is said all the same.
        (several([text_reason("strange"), Reason.of("olt_disabled")]), "strange; se deshabilitó la OLT"),
        (text_reason("50 % of %(olt)s"), "50 % of %(olt)s"),
    ],
)
def test_a_reason_is_said_with_what_is_in_it(reason: Reason, spanish: str) -> None:
    assert reason_words(reason) == spanish
    with translation.override("en"):
        assert reason_words(reason).replace("1200 of 2000", "1,200 of 2,000") == str(reason)


@pytest.mark.parametrize(
    ("object_id", "descr", "spanish"),
    [
        ("1.3.6.1.4.1.2011.2.115", "", "su sysObjectID"),
        ("1.3.6.1.4.1.99999", "a toaster", "ningún perfil conoce al fabricante del sysObjectID"),
        ("", "", "no informa su sysObjectID"),
    ],
)
def test_how_an_olt_was_recognised_is_told_in_spanish(object_id: str, descr: str, spanish: str) -> None:
    assert reason_words(detect(Identity(object_id, descr), {}, builtin()).why).startswith(spanish)


@pytest.mark.parametrize("text", ["5 apples", "0s", "9999d"])
def test_an_interval_is_refused_in_spanish(text: str) -> None:
    with pytest.raises(BadInterval) as refused:
        parse_interval(text)
    assert "intervalo" in reason_words(refused.value.reason)


@pytest.mark.parametrize(
    ("job", "masters"), [(1, {1: None}), (1, {1: None, 2: 3}), (1, {1: None, 3: 1, 2: None})]
)
def test_a_chain_is_refused_in_spanish(job: int, masters: dict[int, int | None]) -> None:
    with pytest.raises(ChainError) as refused:
        check_master(job, 2 if 2 in masters else 1, masters, {1: "a", 2: "b", 3: "c"})
    assert reason_words(refused.value.reason) != str(refused.value)
