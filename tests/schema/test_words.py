"""Words of messages: long lists are cut, and names are quoted."""

from __future__ import annotations

from knockoffs.schema.words import column_name, counted, listing


def test_a_long_list_is_cut() -> None:
    assert listing([str(i) for i in range(5)]) == "0, 1, 2, 3, 4"
    assert listing([str(i) for i in range(9)]) == "0, 1, 2, 3, 4 and 4 more"


def test_column_names_are_quoted() -> None:
    assert column_name(["a b"], 0) == "column 'a b'"
    assert column_name(None, 3) == "column 'x3'"


def test_nouns_agree_with_their_number() -> None:
    assert [counted(n, "row") for n in (0, 1, 2_000)] == ["0 rows", "1 row", "2,000 rows"]
    assert [counted(n, "class", "classes") for n in (1, 2)] == ["1 class", "2 classes"]
