"""Columns as PostgreSQL's binary arrays, read back by psycopg's own reader of them."""

import json
from datetime import UTC
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.adapt import Transformer
from psycopg.postgres import types
from psycopg.pq import Format

from facho.apps.db.binary_arrays import encode_columns, encoder_of
from tests.hypothesis_runs import often

TIMES = st.datetimes(timezones=st.just(UTC))
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"))
COLUMNS: list[tuple[str, str, st.SearchStrategy[Any]]] = [
    ("bigint", "int8", st.integers(-(2**63), 2**63 - 1)),
    ("integer", "int4", st.integers(-(2**31), 2**31 - 1)),
    ("smallint", "int2", st.integers(-(2**15), 2**15 - 1)),
    ("double precision", "float8", st.floats(allow_nan=False)),
    ("boolean", "bool", st.booleans()),
    ("text", "text", TEXTS),
    ("varchar(40)", "varchar", TEXTS),
    ("timestamp with time zone", "timestamptz", TIMES),
]


def read_array(type_name: str, data: bytes) -> list[Any]:
    found: list[Any] = Transformer().get_loader(types[type_name].array_oid, Format.BINARY).load(data)
    return found


@pytest.mark.parametrize(("column", "name", "elements"), COLUMNS, ids=[each[0] for each in COLUMNS])
@often(200)
@given(st.data())
def test_an_array_is_read_as_the_values_that_were_written(
    column: str, name: str, elements: st.SearchStrategy[Any], data: st.DataObject
) -> None:
    values = data.draw(st.lists(st.none() | elements))
    encoded = encode_columns([encoder_of(column)], [values])
    assert encoded is not None
    assert read_array(name, encoded[0]) == values


@often(100)
@given(st.lists(st.none() | st.recursive(st.booleans() | st.integers() | TEXTS, st.lists)))
def test_an_array_of_json_is_read_as_what_its_texts_say(values: list[Any]) -> None:
    texts = [None if value is None else json.dumps(value) for value in values]
    encoded = encode_columns([encoder_of("jsonb")], [texts])
    assert encoded is not None
    assert read_array("jsonb", encoded[0]) == values


@pytest.mark.parametrize(
    ("column", "values"),
    [("integer", [2**31]), ("integer", ["1"]), ("text", [1]), ("jsonb", [{}]), ("inet", ["::1"])],
)
def test_what_cannot_be_encoded_is_left_to_the_database(column: str, values: list[Any]) -> None:
    assert encode_columns([encoder_of(column)], [values]) is None
