"""Pages, the admin, the API and the command line write nothing by themselves: commands of the engine do."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import facho

SOURCE = Path(facho.__file__).parent
WRITES = {
    "save",
    "create",
    "bulk_create",
    "bulk_update",
    "get_or_create",
    "update_or_create",
    "delete",
    "update",
}
# The counting of log-ins, and the demo, which has an OLT moved to where its simulator listens now.
ALLOWED = {("web/access/login_limits.py", "attempt.delete"), ("cli/demo.py", "update")}


def written(path: Path) -> Iterator[tuple[str, str]]:
    for call in ast.walk(ast.parse(path.read_text())):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            continue
        of, name = ast.unparse(call.func.value), call.func.attr
        is_draft = any(each.arg == "commit" for each in call.keywords)
        of_rows = ".objects" in of or "queryset" in of
        if name in WRITES and not is_draft and (of_rows or name in ("save", "delete")):
            found = name if ".objects" in of else f"{of}.{name}"
            yield str(path.relative_to(SOURCE)), found


def test_nothing_above_the_engine_writes_rows() -> None:
    paths = [path for layer in ("web", "cli") for path in sorted((SOURCE / layer).rglob("*.py"))]
    found = {each for path in paths for each in written(path)}
    assert found == ALLOWED
