"""The texts of the program, and their Spanish.

`python -m tests.catalogue` adds what is new to django.po with an empty translation, drops what is gone, and
writes django.mo. That is committed too: nobody needs gettext's own tools, neither here nor to install facho.
English needs no catalogue, since the texts are in English.
"""

import ast
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SOURCES = Path(__file__).parents[1] / "src" / "facho"
SPANISH = SOURCES / "web" / "locale" / "es" / "LC_MESSAGES" / "django.po"

HEADER = (
    "Content-Type: text/plain; charset=UTF-8\n"
    "Content-Transfer-Encoding: 8bit\n"
    "Language: es\n"
    "MIME-Version: 1.0\n"
    "Plural-Forms: nplurals=2; plural=(n != 1);\n"
)
# Which arguments of each function are the context, the text and its plural.
FUNCTIONS: dict[str, tuple[int | None, int, int | None]] = {
    **dict.fromkeys(("_", "gettext", "gettext_lazy", "gettext_noop"), (None, 0, None)),
    **dict.fromkeys(("ngettext", "ngettext_lazy"), (None, 0, 1)),
    **dict.fromkeys(("pgettext", "pgettext_lazy"), (0, 1, None)),
    **dict.fromkeys(("npgettext", "npgettext_lazy"), (0, 1, 2)),
    # Of `core.reason_texts`, which knows no Django.
    "Template": (None, 0, 1),
}
QUOTED = r"""("[^"]*"|'[^']*')"""
TRANSLATE = re.compile(rf"{{%\s*trans(?:late)?\s+{QUOTED}(?:[^%]*?\scontext\s+{QUOTED})?[^%]*%}}")
IN_TAG = re.compile(rf"{{[%{{][^}}]*?_\({QUOTED}\)[^}}]*}}")
BLOCK = re.compile(r"{%\s*blocktrans(?:late)?\b([^%]*)%}(.*?){%\s*endblocktrans(?:late)?\s*%}", re.DOTALL)
PLURAL = re.compile(r"{%\s*plural\s*%}")
PLACEHOLDER = re.compile(r"{{\s*(\w+)\s*}}")


@dataclass(frozen=True, order=True)
class Text:
    text: str
    context: str = ""
    plural: str = ""

    @property
    def key(self) -> str:
        """As gettext has it in a .mo file."""
        singular = f"{self.context}\x04{self.text}" if self.context else self.text
        return f"{singular}\0{self.plural}" if self.plural else singular


# The translations of a text: one, or one for each form of the plural.
Catalogue = dict[Text, tuple[str, ...]]


def texts_of_the_program() -> set[Text]:
    python = (text for path in SOURCES.rglob("*.py") for text in in_python(path.read_text("utf-8")))
    pages = (text for path in SOURCES.rglob("*.html") for text in in_template(path.read_text("utf-8")))
    return {*python, *pages}


def in_python(source: str) -> Iterator[Text]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS:
            places = FUNCTIONS[node.func.id]
            context, text, plural = (_constant(node.args, place) for place in places)
            if text:
                yield Text(text, context, plural)


def _constant(arguments: list[ast.expr], place: int | None) -> str:
    if place is None or place >= len(arguments):
        return ""
    argument = arguments[place]
    is_text = isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    return str(argument.value) if is_text else ""  # type: ignore[attr-defined]


def in_template(source: str) -> Iterator[Text]:
    for found in TRANSLATE.finditer(source):
        yield Text(found[1][1:-1], (found[2] or "")[1:-1])
    for found in IN_TAG.finditer(source):
        yield Text(found[1][1:-1])
    for found in BLOCK.finditer(source):
        singular, *plural = (_block_text(part, found[1]) for part in PLURAL.split(found[2]))
        context = re.search(rf"\scontext\s+{QUOTED}", found[1])
        yield Text(singular, context[1][1:-1] if context else "", plural[0] if plural else "")


def _block_text(text: str, options: str) -> str:
    if re.search(r"\btrimmed\b", options):
        text = " ".join(line.strip() for line in text.strip().splitlines())
    return PLACEHOLDER.sub(r"%(\1)s", text.replace("%", "%%"))


def read(po: str) -> Catalogue:
    """What this module writes, and what editors of .po files make of it."""
    found: Catalogue = {}
    for entry in re.split(r"\n\s*\n", po):
        fields: dict[str, str] = {}
        name = ""
        for line in entry.splitlines():
            if line.startswith("#") or not line.strip():
                continue
            if not line.startswith('"'):
                name, line = line.split(" ", 1)
            fields[name] = fields.get(name, "") + ast.literal_eval(line)
        if fields.get("msgid"):
            text = Text(fields["msgid"], fields.get("msgctxt", ""), fields.get("msgid_plural", ""))
            found[text] = tuple(value for name, value in fields.items() if name.startswith("msgstr"))
    return found


def write(catalogue: Catalogue) -> str:
    header = "".join(f"{_quoted(line)}\n" for line in HEADER.splitlines(keepends=True))
    entries = (_entry(text, catalogue[text]) for text in sorted(catalogue))
    return "\n".join([f'msgid ""\nmsgstr ""\n{header}', *entries])


def _entry(text: Text, translations: tuple[str, ...]) -> str:
    lines = [f"msgctxt {_quoted(text.context)}"] if text.context else []
    lines.append(f"msgid {_quoted(text.text)}")
    if text.plural:
        lines.append(f"msgid_plural {_quoted(text.plural)}")
        lines += [f"msgstr[{number}] {_quoted(each)}" for number, each in enumerate(translations)]
    else:
        lines.append(f"msgstr {_quoted(translations[0])}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def compiled(catalogue: Catalogue) -> bytes:
    """The .mo file: two tables of lengths and offsets, of the texts in order and their translations."""
    pairs = {"": HEADER} | {text.key: "\0".join(found) for text, found in catalogue.items() if all(found)}
    texts = sorted((text.encode(), translation.encode()) for text, translation in pairs.items())
    tables, content = [], b""
    start = 28 + 16 * len(texts)
    for column in zip(*texts, strict=True):
        for each in column:
            tables += [len(each), start + len(content)]
            content += each + b"\0"
    head = (0x950412DE, 0, len(texts), 28, 28 + 8 * len(texts), 0, 0)
    return struct.pack(f"<{len(head) + len(tables)}I", *head, *tables) + content


def update() -> list[Text]:
    """Returns what has no translation yet."""
    known = read(SPANISH.read_text("utf-8")) if SPANISH.exists() else {}
    catalogue = {text: known.get(text) or untranslated(text) for text in texts_of_the_program()}
    SPANISH.parent.mkdir(parents=True, exist_ok=True)
    SPANISH.write_text(write(catalogue), "utf-8")
    SPANISH.with_suffix(".mo").write_bytes(compiled(catalogue))
    return sorted(text for text, found in catalogue.items() if not all(found))


def untranslated(text: Text) -> tuple[str, ...]:
    return ("", "") if text.plural else ("",)


if __name__ == "__main__":
    for missing in update():
        print(f"no Spanish yet: {missing.text}")
