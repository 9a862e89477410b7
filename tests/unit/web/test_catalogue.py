"""Everything that the pages say is in Spanish too, and what was translated is what is read."""

import gettext
import io
import re

import pytest

from facho.engine.commands.credentials import USER_MISTAKES
from facho.snmp.usm import Auth, Priv, User
from tests import catalogue
from tests.catalogue import SPANISH, Text

TRANSLATED = catalogue.read(SPANISH.read_text("utf-8"))
PLACES = re.compile(r"%\(\w+\)[sd]")


def test_every_text_has_its_spanish() -> None:
    """What fails here is mended with `python -m tests.catalogue` and a translation in django.po."""
    missing = [text for text in catalogue.texts_of_the_program() if not all(TRANSLATED.get(text, [""]))]
    assert missing == []


def test_nothing_is_translated_that_nobody_says() -> None:
    assert set(TRANSLATED) - catalogue.texts_of_the_program() == set()


def test_the_compiled_catalogue_is_that_of_the_translations() -> None:
    """What fails here is mended with `python -m tests.catalogue`."""
    assert SPANISH.with_suffix(".mo").read_bytes() == catalogue.compiled(TRANSLATED)


def test_the_compiled_catalogue_is_read_by_others() -> None:
    spanish = gettext.GNUTranslations(io.BytesIO(catalogue.compiled(TRANSLATED)))
    assert spanish.gettext("OLT busy") == "OLT ocupada"
    assert spanish.pgettext("ONU", "starting") == "arrancando"
    assert (
        spanish.ngettext("%(count)d was enabled.", "%(count)d were enabled.", 1) == "Se habilitó %(count)d."
    )
    assert (
        spanish.ngettext("%(count)d was enabled.", "%(count)d were enabled.", 2)
        == "Se habilitaron %(count)d."
    )


def test_a_translation_names_the_same_values() -> None:
    for text, translations in TRANSLATED.items():
        for translation in translations:
            assert set(PLACES.findall(translation)) == set(PLACES.findall(text.text)), text


def test_writing_and_reading_gives_the_same() -> None:
    odd: catalogue.Catalogue = {Text('a "b"\n\\c', "context", "plural"): ("uno\n", "dos")}
    assert catalogue.read(catalogue.write(odd)) == odd


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("_('a' 'b')", Text("ab")),
        ("ngettext('one', 'many', 2)", Text("one", plural="many")),
        ("pgettext_lazy('where', 'x')", Text("x", "where")),
    ],
)
def test_texts_are_found_in_python(source: str, found: Text) -> None:
    assert list(catalogue.in_python(source)) == [found]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("{% translate 'x' %}", Text("x")),
        ("{% translate 'x' context 'where' %}", Text("x", "where")),
        ('{% trans "it\'s" as said %}', Text("it's")),
        ("{% include 'a.html' with title=_('x') %}", Text("x")),
        ("{% blocktranslate with a=b %}{{ a }} 5 %{% endblocktranslate %}", Text("%(a)s 5 %%")),
        (
            "{% blocktranslate count n=b %}{{ n }} row{% plural %}{{ n }} rows{% endblocktranslate %}",
            Text("%(n)s row", plural="%(n)s rows"),
        ),
    ],
)
def test_texts_are_found_in_templates(source: str, found: Text) -> None:
    assert list(catalogue.in_template(source)) == [found]


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": ""},
        {"name": "u", "auth": Auth.MD5, "auth_password": "short"},
        {"name": "u", "priv": Priv.DES, "priv_password": "long-enough"},
        {"name": "u", "auth": Auth.MD5, "auth_password": "long-enough", "priv": Priv.DES},
    ],
)
def test_what_is_said_of_a_wrong_user_has_its_field_and_its_spanish(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="SNMPv3") as error:
        User(**wrong)  # type: ignore[arg-type]
    assert str(error.value) in USER_MISTAKES
    assert Text(str(error.value)) in TRANSLATED
