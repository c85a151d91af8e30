"""The net sees every difference between two trees,
and knows the package by its public names alone.
"""

from __future__ import annotations

import ast
import inspect
from typing import Any

import pytest

import knockoffs
from benchmarks import net_cases
from benchmarks.net import compare
from knockoffs import datasets

VALUES = {"w": [0.0, 0.1, float("nan")], "selection": {"names": ["a", "b"], "level": None}}


def lines(here: dict[str, Any], base: dict[str, Any]) -> dict[str, bool]:
    return {line.what: line.equal for line in compare("case", {"values": here}, {"values": base})}


def test_what_is_the_same_is_equal() -> None:
    assert lines(VALUES, VALUES) == {"w": True, "selection": True}


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"w": [0.0, 0.1 + 2**-56, float("nan")]}, id="one bit"),
        pytest.param({"w": [-0.0, 0.1, float("nan")]}, id="the sign of zero"),
        pytest.param({"w": [0.0, 0.1, 0.2]}, id="a number that does not exist"),
        pytest.param({"w": [0.0, 0.1]}, id="fewer numbers"),
        pytest.param({"w": [0.0, 0.1, float("nan"), 0.3]}, id="more numbers"),
        pytest.param({"w": [None, 0.1, float("nan")]}, id="None for a number"),
        pytest.param({"w": "0.0"}, id="words for numbers"),
    ],
)
def test_every_difference_of_numbers_is_seen_from_both_sides(other: dict[str, Any]) -> None:
    assert (
        lines(VALUES | other, VALUES)
        == lines(VALUES, VALUES | other)
        == {"w": False, "selection": True}
    )


def test_words_are_compared_too() -> None:
    other = VALUES | {"selection": {"names": ["a", "c"], "level": None}}
    assert lines(other, VALUES) == {"w": True, "selection": False}


def test_what_only_this_tree_has_is_no_difference_and_what_only_the_base_has_is_one() -> None:
    more = VALUES | {"selection": VALUES["selection"] | {"new": 1.0}, "newer": 1.0}
    assert all(lines(more, VALUES).values())
    assert lines(VALUES, more) == {"w": True, "selection": False, "newer": False}


def test_a_configuration_without_values_is_equal_only_where_the_base_lacks_a_name() -> None:
    done, absent, failed = {"values": VALUES}, {"absent": "DDLK"}, {"failed": "ValueError('no')"}
    equal = [
        [line.equal for line in compare("case", *pair)] for pair in [(done, absent), (done, failed)]
    ]
    assert equal == [[True], [False]]
    for here in (absent, failed):
        for base in (done, absent, failed):
            assert [line.equal for line in compare("case", here, base)] == [False]


def test_configurations_use_public_names_alone() -> None:
    """So they run on either side of any move inside the package."""
    tree = ast.parse(inspect.getsource(net_cases))
    imported = [
        ast.unparse(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    assert [line for line in imported if "knockoffs" in line] == [
        "import knockoffs as ko",
        "from knockoffs import datasets",
    ]
    public = {"ko": knockoffs.__all__, "datasets": datasets.__all__}
    used = [
        (node.value.id, node.attr)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id in public
    ]
    assert used
    assert not [(module, name) for module, name in used if name not in public[module]]
