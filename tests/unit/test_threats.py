"""Each threat of SECURITY.md names tests that exist."""

import re
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
NAMED: Final = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")
ROWS: Final = [
    line
    for line in (ROOT / "SECURITY.md").read_text("utf-8").splitlines()
    if line.startswith("| ") and not line.startswith("| who ")
]


def test_every_threat_names_a_test() -> None:
    assert ROWS
    assert [row for row in ROWS if not NAMED.search(row)] == []


def test_the_tests_of_the_threats_exist() -> None:
    named = [match.groups() for row in ROWS for match in NAMED.finditer(row)]
    missing = [
        (path, name)
        for path, name in named
        if not (ROOT / path).is_file() or (name and f"def {name}(" not in (ROOT / path).read_text("utf-8"))
    ]
    assert missing == []
