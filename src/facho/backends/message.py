"""What travels to a poller: the id of an execution, and nothing else that somebody could read on the way."""

from __future__ import annotations

import json


def write(execution_id: int) -> str:
    return json.dumps({"execution_id": execution_id})


def read(message: str) -> int:
    execution_id = json.loads(message)["execution_id"]
    assert isinstance(execution_id, int)
    return execution_id
