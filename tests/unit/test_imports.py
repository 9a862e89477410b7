"""What the lower packages may import from outside: less than import-linter can say."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import facho

FACHO = Path(facho.__file__).parent

# Beside the standard library and facho itself.
MAY_IMPORT = {
    "core": set[str](),
    "snmp": {"cryptography", "uvloop"},
    "vendors": {"yaml"},
    "sim": {"cryptography", "uvloop", "yaml"},
}


def imported_by(source: str) -> Iterator[str]:
    """The top-level name of every import in it, those inside functions too."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module.partition(".")[0]


def strangers(source: str, allowed: set[str]) -> set[str]:
    return set(imported_by(source)) - sys.stdlib_module_names - allowed - {"facho"}


@pytest.mark.parametrize("package", [name for name in MAY_IMPORT if (FACHO / name).is_dir()])
def test_a_lower_package_imports_only_what_it_may(package: str) -> None:
    found = {
        str(path.relative_to(FACHO)): names
        for path in (FACHO / package).rglob("*.py")
        if (names := strangers(path.read_text(), MAY_IMPORT[package]))
    }
    assert found == {}


def test_a_stranger_is_found_wherever_it_is_imported() -> None:
    source = "import os, django.db\n\ndef later():\n    from celery.app import Celery\n"
    assert strangers(source, {"uvloop"}) == {"django", "celery"}


def test_two_modules_have_the_ciphers() -> None:
    """That of SNMPv3, and that of the stored credentials."""
    users = {
        str(path.relative_to(FACHO))
        for path in FACHO.rglob("*.py")
        if "cryptography" in imported_by(path.read_text())
    }
    assert users == {"keys.py", "snmp/usm.py"}
