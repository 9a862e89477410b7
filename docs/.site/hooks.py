"""What mkdocs does differently for this site."""

import re
from posixpath import normpath

# The line of a Spanish page that names its English text. A title is found in the first line only.
MADE_FROM = re.compile(r"\A<!--.*?-->\n")
LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")


def on_page_markdown(markdown, page, **_):
    """Show links to files outside docs/, such as CONTRIBUTING.md, as plain text: the site lacks them."""

    def without_link(found: re.Match) -> str:
        text, link = found.groups()
        outside = ":" not in link and normpath(f"{page.file.src_uri}/../{link}").startswith("../")
        return text if outside else found[0]

    return LINK.sub(without_link, MADE_FROM.sub("", markdown))
