"""One word for each thing in each language, and no text for people that is not translated."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from facho.core.reason_texts import TEMPLATES
from tests import catalogue
from tests.catalogue import SOURCES, SPANISH

TRANSLATED = catalogue.read(SPANISH.read_text("utf-8"))
ROOT = SOURCES.parents[1]

# What is never written, and the word for it. The words are those of docs/reference/glossary.md.
REJECTED_SPANISH = {
    r"\ben orden\b": "normal",
    r"\b(la|una|ninguna|esta|esa)s (OLT|ONU)\b(?!s)": "OLTs, ONUs",
    r"\b(el|un|los|unos|del|al) (OLT|ONU)s?\b": "la OLT, la ONU",
    r"\b(la|una|las) (puerto|nodo|poller|turno|plan|intervalo|motivo|motor|canal|intento|sitio)s?\b": "el",
    r"\b(el|un|los|del|al) (tarea|ejecución|ejecuciones|cuota|regla|caída|potencia|marca|tarjeta)s?\b": "la",
    r"\bfall[oa]s? de quota|\bquotas?\b": "cuota",
    r"\bjobs?\b": "tarea",
    r"\btareas? retirada|\bborra\w*\b": "quitar, eliminar",
    r"\brastreador\w*\b": "cumplimiento de cuotas",
    r"\basocia\w*|\basocie\w*|\badjunta\w*": "asignar",
    r"\bfallos?\b": "falla",
    r"\bcon éxito\b": "exitosa",
    r"\bemitid[ao]s?\b": "transmitida",
    r"\b(input|output|worker|workers|slave|host)\b": "proceso, maestro, OLT",
    r"\bpresione|\bpulse\b|\bpinche\b|\bcliquee\b": "haga clic",
    r"\bordenador\b|\bfichero\b|\bmóvil\b": "equipo, archivo, teléfono",
    r"\b(tu|tus|tú|elija tu|revisa|intenta|puedes|debes|haz)\b": "usted",
    r"\bvacío[:;,] ": "vacío =",
    r"\ben vez de\b": "en lugar de",
    r"inténtelo": "intente",
    r"\bse solapa\b": "se superpone",
    r"[“”]|(?<![A-Za-z])\"": "«»",
    r"(?<!%)\d[%°]": "a space before the unit",
    r"\b\d+[smhd]\b(?!\w)": "15 min",
}
REJECTED_ENGLISH = {
    r"\bin order\b(?! )": "OK",
    r"\bhosts?\b(?! refused|/path|\?to|/topic)": "OLT",
    r"\btask %\(job\)s": "job",
    r"\brun (failed|aborted)\b": "execution",
    r"\bONTs?\b": "ONU",
    r"\blinecards?\b|\bline cards?\b": "board",
    r"\b(crawl|scan|polling)\b": "collection",
    r"\b(please|sorry|oops)\b": "say what to do",
    r"(?<!%)\d[%°]": "a space before the unit",
    r"\bunreachable port\b|\bport failure\b": "outage",
}
# Texts of others, and names that have a word in them.
OTHERS = {
    "webhook",
    "FACHO_",
    "this is no name or address of a host",
    "the host refused",
    "No route to host",
    "mail address",
    "as in 5m or 15 min",
    "host/path",
    "@host",
}


def _rejected(text: str, rejected: dict[str, str]) -> list[str]:
    text = re.sub(r"%\(\w+\)[ds]|<[^>]*>", "%", text)
    found = ((re.search(rule, text, re.IGNORECASE), word) for rule, word in rejected.items())
    return [f"{wrong[0]!r}: {word}" for wrong, word in found if wrong]


def test_spanish_has_one_word_for_each_thing() -> None:
    said = {
        translation: wrong
        for text, translations in TRANSLATED.items()
        for translation in translations
        if not _is_of_others(text.text) and (wrong := _rejected(translation, REJECTED_SPANISH))
    }
    assert said == {}


def test_english_has_one_word_for_each_thing() -> None:
    said = {
        written: wrong
        for text in TRANSLATED
        for written in filter(None, (text.text, text.plural))
        if not _is_of_others(written) and (wrong := _rejected(written, REJECTED_ENGLISH))
    }
    assert said == {}


def _is_of_others(text: str) -> bool:
    return any(each in text for each in OTHERS)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("El OLT no responde", "la OLT, la ONU"),
        ("Todo en orden", "normal"),
        ("las OLT del sitio", "OLTs, ONUs"),
        ("10% de ocupación", "a space before the unit"),
        ("Revisa tu OLT", "usted"),
        ("cada 5m", "15 min"),
    ],
)
def test_a_rejected_word_is_found(text: str, word: str) -> None:
    assert any(wrong.endswith(f": {word}") for wrong in _rejected(text, REJECTED_SPANISH))


def test_a_translation_is_not_the_english_text() -> None:
    """A text that is the same in both languages is a name, a unit or a code."""
    same = {text.text for text, found in TRANSLATED.items() if text.text in found and " " in text.text}
    assert {each for each in same if _is_english(each)} == set()


def _is_english(text: str) -> bool:
    return bool(ENGLISH.search(re.sub(r"%\(\w+\)[sd]", "", text)))


ENGLISH = re.compile(
    r"\b(the|of|is|are|was|no|not|with|without|and|or|this|that|from|until|since|has|have|every|last|next)\b",
    re.IGNORECASE,
)
# Letters and words that English texts of the program do not have.
SPANISH_WORDS = re.compile(
    r"[áéíóúñ¿¡«»]|\b(una|para|por|con|desde|hace|ninguna|tarea|puerto|ejecución|cuota|del|está)\b",
    re.IGNORECASE,
)
# Where Spanish is data: the units of intervals, names of languages and of simulated customers.
WITH_SPANISH = {"core/interval.py", "apps/notifications/models.py", "settings.py", "sim/families/facts.py"}


def test_no_spanish_stands_in_the_code() -> None:
    found = {
        f"{path.relative_to(SOURCES)}:{line}": text
        for path in SOURCES.rglob("*.py")
        if path.relative_to(SOURCES).as_posix() not in WITH_SPANISH and "migrations" not in path.parts
        for line, text in _texts(path)
        if SPANISH_WORDS.search(text)
    }
    assert found == {}


def _texts(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


# Arguments that people read, of calls in the packages that pages are made of.
READ_BY_PEOPLE = {"verbose_name", "verbose_name_plural", "label", "description", "help_text", "title"}
REFUSALS = {"CommandError", "ValidationError", "message_user"}
PAGES = ("apps", "engine", "web")
# The description of the API is in English, as OpenAPI is read by programmers.
ENGLISH_ONLY = ("web/api/",)


def test_texts_for_people_are_translated() -> None:
    found = {
        f"{path.relative_to(SOURCES)}:{node.lineno}": node.value
        for package in PAGES
        for path in (SOURCES / package).rglob("*.py")
        if "migrations" not in path.parts
        and not path.relative_to(SOURCES).as_posix().startswith(ENGLISH_ONLY)
        for node in _untranslated(path.read_text("utf-8"))
    }
    assert found == {}


def _untranslated(source: str) -> Iterator[ast.Constant]:
    """Yield texts in words that are given as they are to what people read."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        called = getattr(node.func, "id", getattr(node.func, "attr", ""))
        named = [each.value for each in node.keywords if each.arg in READ_BY_PEOPLE]
        given = node.args if called in REFUSALS else node.args[:1] if called.endswith("Field") else ()
        for each in (*named, *given):
            if isinstance(each, ast.Constant) and isinstance(each.value, str) and _is_sentence(each.value):
                yield each


def _is_sentence(text: str) -> bool:
    return " " in text and bool(re.search(r"[a-z]{3}", text))


def test_a_text_that_is_not_translated_is_found() -> None:
    sources = ("CommandError('x', 'it is wrong')", "f(label='the name')", "models.CharField('the name')")
    assert [each.value for source in sources for each in _untranslated(source)] == [
        "it is wrong",
        "the name",
        "the name",
    ]
    assert list(_untranslated("CommandError('x', _('it is wrong'))")) == []


# Words that are the same in both languages: names, units, codes of SNMP.
SAME = {
    *("Facho", "Deluxe", "OLT", "OLTs", "ONU", "ONUs", "CPU", "SNMP", "sysDescr", "sysObjectID"),
    *("dBm", "mA", "ms", "rpm", "nbsp"),
}
# Names of icons.
ICONS = {"chevron_right", "schedule"}
READ_ATTRIBUTES = re.compile(r'\b(?:title|aria-label|placeholder|alt|data-label)="([^"]*)"')


def test_words_in_templates_are_translated() -> None:
    found = {
        path.relative_to(SOURCES).as_posix(): words
        for path in SOURCES.rglob("*.html")
        if (words := set(_words_of_template(path.read_text("utf-8"))) - SAME - ICONS)
    }
    assert found == {}


def _words_of_template(source: str) -> Iterator[str]:
    for block in ("comment", "blocktrans(?:late)?"):
        end = block.replace("(?:late)?", "(?:late)?")
        source = re.sub(rf"{{%\s*{block}\b.*?end{end}\s*%}}", " ", source, flags=re.DOTALL)
    source = re.sub(r"{#.*?#}|{%.*?%}|{{.*?}}", " ", source, flags=re.DOTALL)
    read = " ".join(READ_ATTRIBUTES.findall(source))
    shown = re.sub(r"<(script|style)\b.*?</\1>|<!--.*?-->|<[^>]*>", " ", source, flags=re.DOTALL)
    yield from re.findall(r"[A-Za-zÁÉÍÓÚáéíóúÑñ_]{2,}", f"{read} {shown}")


def test_a_word_in_a_template_is_found() -> None:
    source = '<a title="Here">{% translate "x" %} There {{ y }}</a>{% blocktrans %}z{% endblocktrans %}'
    assert list(_words_of_template(source)) == ["Here", "There"]


def test_scripts_have_no_words_for_people() -> None:
    """Scripts show what the page gives them: texts with spaces in them would be in one language."""
    texts = re.compile(r'"([A-Z][a-z]+ [a-z][^"]*)"|\btextContent = "')
    found = {
        path.name: texts.findall(source)
        for path in (SOURCES / "web" / "static" / "facho").glob("*.js")
        if texts.search(source := path.read_text("utf-8"))
    }
    assert found == {}


def test_why_profiles_never_read_something_is_said_in_words() -> None:
    known = {template.text for template in TEMPLATES.values()}
    reasons = {
        why["why"]
        for path in (SOURCES / "vendors" / "profiles").glob("*.yaml")
        for why in _never_read(yaml.safe_load(path.read_text("utf-8")))
    }
    assert reasons
    assert reasons - known == set()


def _never_read(profile: object) -> Iterator[dict[str, str]]:
    match profile:
        case {"oid": str(), "why": str()}:
            yield profile  # type: ignore[misc]
        case dict():
            for value in profile.values():
                yield from _never_read(value)
        case list():
            for value in profile:
                yield from _never_read(value)


def test_titles_of_brands_are_names() -> None:
    """They are shown in both languages."""
    titles = {
        yaml.safe_load(path.read_text("utf-8"))["title"]
        for path in (SOURCES / "vendors" / "profiles").glob("*.yaml")
    }
    assert {each for each in titles if ENGLISH.search(each) or SPANISH_WORDS.search(each)} == set()
