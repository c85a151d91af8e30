"""Words of messages: long lists are cut, and names are quoted."""

from __future__ import annotations

from knockoffs.words import column_name, listing


def test_a_long_list_is_cut() -> None:
    assert listing([str(i) for i in range(5)]) == "0, 1, 2, 3, 4"
    assert listing([str(i) for i in range(9)]) == "0, 1, 2, 3, 4 and 4 more"


def test_column_names_are_quoted() -> None:
    assert column_name(["a b"], 0) == "column 'a b'"
    assert column_name(None, 3) == "column 'x3'"
