import pytest

from facho.web.components import shared_part


@pytest.fixture(autouse=True)
def parts_are_rendered_by_who_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread would not see the rows of the test, which are in a transaction."""
    monkeypatch.setattr(shared_part, "_run_later", None)
