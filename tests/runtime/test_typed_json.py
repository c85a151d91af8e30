"""Values from JSON are what the code declares, or an error names the entry."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, strategies as st

from knockoffs.runtime.arrays import Array, Flags, Indices
from knockoffs.runtime.typed_json import as_record, as_type, packed, plain, with_arrays


def test_plain_values_are_what_json_gives_back() -> None:
    value = {"a": np.float32(0.5), 1: (np.int64(2), np.nan, -np.inf, [np.bool_(True), None, "x"])}
    expected = {"a": 0.5, "1": [2, None, None, [True, None, "x"]]}
    assert plain(value) == json.loads(json.dumps(plain(value), allow_nan=False)) == expected


@dataclass
class Example:
    name: str
    count: int
    losses: list[float]
    levels: list[list[float] | None] = field(default_factory=list)
    done: bool = False
    anything: Any = None


@given(
    st.builds(
        Example,
        name=st.text(),
        count=st.integers(),
        losses=st.lists(st.floats(allow_nan=False)),
        levels=st.lists(st.none() | st.lists(st.floats(allow_nan=False))),
        done=st.booleans(),
        anything=st.none() | st.text() | st.lists(st.integers()),
    )
)
def test_a_record_survives_json(record: Example) -> None:
    assert as_record(Example, json.loads(json.dumps(asdict(record)))) == record


def test_entries_may_be_left_out_only_where_there_is_a_default() -> None:
    assert as_record(Example, {"name": "a", "count": 1, "losses": []}) == Example("a", 1, [])
    with pytest.raises(ValueError, match="count"):
        as_record(Example, {"name": "a", "losses": []})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("name", 1),
        ("count", True),
        ("count", 1.0),
        ("count", "1"),
        ("losses", 1.0),
        ("losses", [1.0, None]),
        ("losses", [False]),
        ("levels", [[1.0], "a"]),
        ("done", 1),
        ("other", 1),
    ],
)
def test_other_types_are_refused_by_name(name: str, value: Any) -> None:
    whole = {"name": "a", "count": 1, "losses": []}
    with pytest.raises(ValueError, match=name):
        as_record(Example, whole | {name: value})


@pytest.mark.parametrize("value", [None, [], "text", 3])
def test_what_is_no_object_is_no_record(value: Any) -> None:
    with pytest.raises(ValueError, match="is not an object with the entries name, count"):
        as_record(Example, value)


def test_whole_numbers_stay_whole_where_both_are_allowed() -> None:
    assert [type(value) for value in as_type(list[int | float], [10, 0.5], "search")] == [
        int,
        float,
    ]
    assert type(as_type(float, 10, "loss")) is float


@dataclass
class Line:
    at: Array
    seen: Flags


@dataclass
class Points:
    at: Array


@dataclass
class Drawing:
    kind: Literal["plan", "map"]
    parts: tuple[Line | Points, ...]
    order: Indices
    frame: Line | None = None


DRAWING = Drawing(
    "map",
    (
        Points(np.array([[0.1, np.nan]])),
        Line(np.array([1e-300]), np.array([True])),
        Points(np.empty(0)),
    ),
    np.arange(3),
)


def through_json(drawing: Drawing, **changed: np.ndarray) -> Drawing:
    arrays: dict[str, np.ndarray] = {}
    text = json.dumps(packed(drawing, arrays))
    return as_record(Drawing, with_arrays(json.loads(text), arrays | changed))


def test_records_within_a_record_and_their_arrays_survive() -> None:
    found = through_json(DRAWING)
    assert [type(part) for part in found.parts] == [Points, Line, Points]
    assert (found.kind, found.frame) == ("map", None)
    arrays, expected = {}, {}
    assert packed(found, arrays) == packed(DRAWING, expected)
    assert arrays.keys() == expected.keys()
    for name, array in expected.items():
        assert arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(arrays[name], array)


@pytest.mark.parametrize("array", [np.array([True]), np.array([1]), np.array([np.inf])])
def test_arrays_of_another_type_or_without_end_are_refused(array: np.ndarray) -> None:
    with pytest.raises(ValueError, match="parts"):
        through_json(DRAWING, **{"record.0": array})


@pytest.mark.parametrize(
    ("name", "value"), [("kind", "photo"), ("parts", [{"is": "Circle"}]), ("frame", {})]
)
def test_what_is_none_of_the_declared_kinds_is_refused_by_name(name: str, value: Any) -> None:
    arrays: dict[str, np.ndarray] = {}
    with pytest.raises(ValueError, match=name):
        as_record(Drawing, with_arrays(packed(DRAWING, arrays) | {name: value}, arrays))
