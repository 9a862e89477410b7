import pytest

from facho.web.components import shared_part
from facho.web.server.answer_cache import AnswerCache


@pytest.fixture(autouse=True)
def parts_are_rendered_by_who_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread would not see the rows of the test, which are in a transaction."""
    monkeypatch.setattr(shared_part, "_run_later", None)
    # The times of another test's changes may be of another clock.
    monkeypatch.setattr(shared_part, "_cache", AnswerCache("facho.parts"))
