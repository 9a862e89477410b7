"""The Markdown of the project: its links, and its Spanish.

`python -m tests.documents` checks that each link leads to a file and each anchor to a heading, and that each
Spanish page is in step with the English one. It is part of `make lint`.

A Spanish page names in its first line the English text that it was made from. After a change of the English
page, change the Spanish one too, then write the new line with `python -m tests.documents --in-step PAGE`.
"""

import argparse
import hashlib
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from posixpath import normpath, relpath

ROOT = Path(__file__).parents[1]
# The pages that operators read. What is not here is for administrators and developers, in English only.
TRANSLATED = ("README.md", "docs/index.md", "docs/quickstart.md", "docs/howto/*.md")

FENCE = re.compile(r"^[ ]*(```+)([^\n]*)\n(.*?)^[ ]*\1[ ]*$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")
HEADING = re.compile(r"^(#{1,6}) +(.+?) *#*$", re.MULTILINE)
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*([^)\s]+)[^)]*\)")
# What a shell or Python takes for a comment may be in another language.
COMMENT = re.compile(r"(^|\s)#.*$", re.MULTILINE)
MADE_FROM = re.compile(r"\A<!-- Spanish of (\S+) at ([0-9a-f]{12}) -->\n")


@dataclass(frozen=True)
class Page:
    """A Markdown file. Its path is from the root of the project, with slashes."""

    path: str
    text: str

    @property
    def without_blocks(self) -> str:
        return FENCE.sub("", self.text)

    @property
    def blocks(self) -> list[str]:
        """Its code blocks, without comments. Those marked `text`, such as drawings, may be translated."""
        return [
            "" if language == "text" else COMMENT.sub("", code).rstrip()
            for _, language, code in FENCE.findall(self.text)
        ]

    @property
    def levels(self) -> list[int]:
        return [len(found[0]) for found in HEADING.findall(self.without_blocks)]

    @property
    def anchors(self) -> set[str]:
        """The anchors of its headings, as forges and the site make them: a repeated one gets a number."""
        anchors: set[str] = set()
        for _, heading in HEADING.findall(self.without_blocks):
            base, count = anchor_of(heading), 0
            anchor = base
            while anchor in anchors:
                count += 1
                anchor = f"{base}-{count}"
            anchors.add(anchor)
        return anchors

    @property
    def links(self) -> list[str]:
        return LINK.findall(CODE.sub("", self.without_blocks))

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()[:12]


def anchor_of(heading: str) -> str:
    """The words of a heading in lower case, with hyphens between them."""
    words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
    return re.sub(r"[^\w\- ]", "", words).strip().replace(" ", "-")


def spanish_of(path: str) -> str:
    """Where the Spanish page of an English one is."""
    return "README.es.md" if path == "README.md" else path.replace("docs/", "docs/es/", 1)


def is_external(link: str) -> bool:
    return re.match(r"[a-z][a-z0-9+.-]*:", link) is not None


def target_of(page: str, link: str) -> tuple[str, str]:
    """The file that a link of a page leads to, from the root of the project, and the anchor in it."""
    file, _, anchor = link.partition("#")
    return (normpath(f"{page}/../{file}") if file else page), anchor


def broken_links(pages: dict[str, Page], files: set[str]) -> Iterator[str]:
    """Links to files that do not exist, and to headings that do not."""
    for page in pages.values():
        for link in page.links:
            if is_external(link):
                continue
            target, anchor = target_of(page.path, link)
            if target not in files:
                yield f"{page.path}: {link} leads to no file"
            elif anchor and target in pages and anchor not in pages[target].anchors:
                yield f"{page.path}: {link} leads to no heading"


def out_of_step(pages: dict[str, Page], translated: set[str]) -> Iterator[str]:
    """Spanish pages that are missing, older than the English ones, or with other headings, code or links."""
    for path in sorted(translated):
        spanish = pages.get(spanish_of(path))
        if spanish is None:
            yield f"{path}: has no Spanish page, {spanish_of(path)}"
        else:
            yield from differences(pages[path], spanish, translated)
    wanted = {spanish_of(path) for path in translated}
    for path in sorted(pages):
        if (path.startswith("docs/es/") or path.endswith(".es.md")) and path not in wanted:
            yield f"{path}: is the Spanish of no page"


def differences(english: Page, spanish: Page, translated: set[str]) -> Iterator[str]:
    made_from = MADE_FROM.match(spanish.text)
    if made_from is None or made_from[1] != english.path:
        yield f"{spanish.path}: the first line does not name the English page"
    elif made_from[2] != english.digest:
        yield f"{spanish.path}: {english.path} has changed since; bring it in step, then run with --in-step"
    if spanish.levels != english.levels:
        yield f"{spanish.path}: other headings than {english.path}: {spanish.levels}, not {english.levels}"
    if spanish.blocks != english.blocks:
        number = first_difference(english.blocks, spanish.blocks)
        yield f"{spanish.path}: code block {number} differs from {english.path}"
    links, wanted = sorted(targets(spanish)), sorted(targets_in_spanish(english, translated))
    for link in sorted(set(wanted) - set(links)):
        yield f"{spanish.path}: lacks the link to {link}"
    for link in sorted(set(links) - set(wanted)):
        yield f"{spanish.path}: a link to {link}, which {english.path} does not have"


def first_difference(ours: list[str], theirs: list[str]) -> int:
    pairs = zip(ours, theirs, strict=False)
    return next((i for i, (a, b) in enumerate(pairs, 1) if a != b), min(len(ours), len(theirs)) + 1)


def targets(page: Page) -> Iterator[str]:
    """The files that a page links to. Anchors are not compared: they are words of a language."""
    for link in page.links:
        target = link if is_external(link) else target_of(page.path, link)[0]
        if target != page.path and {target, page.path} != {"README.md", "README.es.md"}:
            yield target


def targets_in_spanish(page: Page, translated: set[str]) -> Iterator[str]:
    for target in targets(page):
        yield spanish_of(target) if target in translated else target


def files_of_the_project() -> set[str]:
    ignored = {".git", ".venv", "build", "dist", "var", "node_modules"}
    return {
        path.relative_to(ROOT).as_posix()
        for top in ROOT.iterdir()
        if top.name not in ignored
        for path in ([top] if top.is_file() else [top, *top.rglob("*")])
    }


def problems() -> list[str]:
    files = files_of_the_project()
    pages = {
        path: Page(path, (ROOT / path).read_text("utf-8"))
        for path in sorted(files)
        if path.endswith(".md") and (path.startswith("docs/") or "/" not in path)
    }
    translated = {path.relative_to(ROOT).as_posix() for pattern in TRANSLATED for path in ROOT.glob(pattern)}
    return [*broken_links(pages, files), *out_of_step(pages, translated)]


def write_in_step(path: Path) -> None:
    """Write into the first line of a Spanish page that it is in step with the English one."""
    ours = relpath(path.resolve().as_posix(), ROOT.as_posix())
    english = "README.md" if ours == "README.es.md" else ours.replace("docs/es/", "docs/", 1)
    digest = Page(english, (ROOT / english).read_text("utf-8")).digest
    text = MADE_FROM.sub("", path.read_text("utf-8"))
    path.write_text(f"<!-- Spanish of {english} at {digest} -->\n{text}", "utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.documents", description=__doc__)
    parser.add_argument(
        "--in-step", nargs="+", type=Path, metavar="PAGE", help="Spanish pages that are in step"
    )
    arguments = parser.parse_args()
    if arguments.in_step:
        for path in arguments.in_step:
            write_in_step(path)
        return 0
    found = problems()
    for problem in found:
        print(problem, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
