"""The checks of the project's Markdown notice what they are for."""

from tests.documents import Page, anchor_of, broken_links, out_of_step

ENGLISH = Page(
    "docs/howto/a.md",
    "# A\n\n## Do it\n\n```\nfacho up  # starts\n```\n\n[b](b.md), [r](../reference/r.md#x)\n",
)
OTHER = Page("docs/howto/b.md", "# B\n")
REFERENCE = Page("docs/reference/r.md", "# R\n\n## X\n")
TRANSLATED = {"docs/howto/a.md"}


IN_SPANISH = (
    "# A\n\n## Hágalo\n\n```\nfacho up  # arranca\n```\n\n"
    "[b](../../howto/b.md), [r](../../reference/r.md#x)\n"
)


def spanish(text: str = IN_SPANISH, digest: str = ENGLISH.digest) -> Page:
    return Page("docs/es/howto/a.md", f"<!-- Spanish of docs/howto/a.md at {digest} -->\n{text}")


def by_path(*pages: Page) -> dict[str, Page]:
    return {page.path: page for page in (ENGLISH, OTHER, REFERENCE, *pages)}


def step_problems(page: Page) -> list[str]:
    return list(out_of_step(by_path(page), TRANSLATED))


def test_a_translation_may_differ_in_words_and_comments() -> None:
    assert step_problems(spanish()) == []


def test_a_changed_english_page_is_noticed() -> None:
    assert "has changed since" in step_problems(spanish(digest="0" * 12))[0]


def test_a_missing_translation_is_noticed() -> None:
    assert "has no Spanish page" in next(out_of_step(by_path(), TRANSLATED))


def test_a_translation_of_nothing_is_noticed() -> None:
    extra = Page("docs/es/howto/old.md", "# Old\n")
    assert any("Spanish of no page" in line for line in out_of_step(by_path(spanish(), extra), TRANSLATED))


def test_other_code_headings_and_links_are_noticed() -> None:
    assert "code block 1 differs" in step_problems(spanish(IN_SPANISH.replace("facho up", "facho engine")))[0]
    assert "other headings" in step_problems(spanish(IN_SPANISH.replace("## ", "### ")))[0]
    assert (
        "lacks the link to docs/howto/b.md"
        in step_problems(spanish(IN_SPANISH.replace("(../../howto/b.md)", "")))[0]
    )


def test_links_of_translated_pages_stay_in_the_language() -> None:
    both = TRANSLATED | {"docs/howto/b.md"}
    pages = by_path(spanish(), Page("docs/es/howto/b.md", "# B\n"))
    assert "docs/es/howto/a.md: lacks the link to docs/es/howto/b.md" in list(out_of_step(pages, both))


def test_links_to_no_file_and_no_heading_are_noticed() -> None:
    links = "[x](gone.md) [y](howto/a.md#gone) [z](howto/a.md#do-it) `[no](link.md)` [w](https://w)"
    page = Page("docs/c.md", f"# C\n\n{links}\n")
    pages = by_path(page)
    found = list(broken_links(pages, set(pages)))
    assert found == ["docs/c.md: gone.md leads to no file", "docs/c.md: howto/a.md#gone leads to no heading"]


def test_anchors_are_those_of_forges() -> None:
    assert anchor_of("Which `--option` to use, and why?") == "which---option-to-use-and-why"
    assert anchor_of("Varios núcleos, una máquina") == "varios-núcleos-una-máquina"
    assert Page("p.md", "# A\n\n## A\n").anchors == {"a", "a-1"}
