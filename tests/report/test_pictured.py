"""Features beside their knockoffs: levels by name, missing cells as shares,
and nothing that a level could run.
"""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from knockoffs import KnockoffSelector, infer_schema
from knockoffs.report.charts import draw, levels_chart, marginal_chart
from knockoffs.report.page import render
from knockoffs.report.summary import LEVELS, columns_read, marginals, pairs, summarise
from knockoffs.table.table import read_table

from .test_charts import require_inside
from .test_page import MADE, NASTY, Tags

ROWS = 200


def mixed() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "weight": rng.normal(70, 10, size=ROWS),
            "town": rng.choice(["Aa", "Bb", "Cc"], size=ROWS),
            "visits": rng.poisson(3, size=ROWS),
            "smoker": rng.random(ROWS) > 0.5,
            "size": pd.Categorical(
                rng.choice([*"sml"], size=ROWS), categories=[*"sml"], ordered=True
            ),
            "nothing": np.nan,
            "height": rng.normal(170, 10, size=ROWS),
        }
    )
    return table.mask(rng.random(table.shape) < 0.1).astype({"size": table["size"].dtype})


def pictured(table: pd.DataFrame, shuffled: pd.DataFrame | None = None) -> Any:
    """What a selector keeps of a table and its knockoffs, here of its shuffled rows."""
    other = table.sample(frac=1, random_state=1) if shuffled is None else shuffled
    x, x_tilde = (read_table(t, who="Test") for t in (table, other))
    return SimpleNamespace(
        columns=np.arange(table.shape[1]),
        x=x.codes,
        x_tilde=x_tilde.codes,
        schema=infer_schema(table),
    )


def summary_of(fitted: KnockoffSelector, table: pd.DataFrame) -> dict[str, Any]:
    """The summary of a fit, as if its features had been those of this table."""
    kept = {name: getattr(fitted, name) for name in ("selection_", "generator_", "certificate_")}
    return summarise(
        SimpleNamespace(**kept, pictured_=pictured(table), schema_=infer_schema(table))
    )


def test_levels_are_counted_by_name() -> None:
    table = mixed()
    found = {m["feature"]: m for m in marginals(pictured(table), list(table.columns))}
    for name, expected in (("town", ["Aa", "Bb", "Cc"]), ("size", ["s", "m", "l"])):
        marginal = found[name]
        assert marginal["levels"] == expected
        assert marginal["data"] == [int((table[name] == level).sum()) for level in expected]
        assert sum(marginal["knockoffs"]) == table[name].notna().sum()
    assert found["smoker"]["levels"] == ["False", "True"]
    assert found["town"]["correlation"] is None
    counts = sorted(table["visits"].dropna().unique().astype(int))
    assert found["visits"]["levels"] == list(map(str, counts))  # few values are levels
    for name in ("weight", "height"):
        assert sum(found[name]["data"]) == table[name].notna().sum()
        assert "levels" not in found[name]


def test_shares_of_missing_cells_are_told_for_both() -> None:
    table = mixed()
    other = table.copy()
    other.loc[:99, "weight"] = np.nan
    first, *_ = marginals(pictured(table, other), list(table.columns))
    assert first["missing"] == {
        "data": table["weight"].isna().mean(),
        "knockoffs": other["weight"].isna().mean(),
    }
    assert marginal_chart(first).missing == {
        side: f"{100 * share:.1f} %" for side, share in first["missing"].items()
    }
    assert marginal_chart(first | {"missing": {"data": 0.0, "knockoffs": 0.0}}).missing == {}


def test_the_rarest_levels_are_counted_together() -> None:
    cells = [f"town {i:02d}" for i in range(30) for _ in range(i + 1)]
    (marginal,) = marginals(pictured(pd.DataFrame({"town": cells})), ["town"])
    assert marginal["levels"] == [*(f"town {i}" for i in range(18, 30)), "18 others"]
    assert len(marginal["levels"]) == LEVELS + 1
    assert sum(marginal["data"]) == sum(marginal["knockoffs"]) == len(cells)


def test_levels_that_only_knockoffs_have_are_counted() -> None:
    table = pd.DataFrame({"town": pd.Categorical(["a", "b"] * 10, categories=["a", "b", "c"])})
    other = pd.DataFrame({"town": pd.Categorical(["a", "c"] * 10, categories=["a", "b", "c"])})
    (marginal,) = marginals(pictured(table, other), ["town"])
    assert (marginal["levels"], marginal["data"], marginal["knockoffs"]) == (
        ["a", "b", "c"],
        [10, 10, 0],
        [10, 0, 10],
    )


def test_pairs_are_of_quantities_and_of_rows_where_both_are_there() -> None:
    table = mixed()
    found = pairs(pictured(table), list(table.columns))
    # "nothing" has no points
    assert [(pair["first"], pair["second"]) for pair in found] == [("weight", "visits")]
    both = table[["weight", "visits"]].dropna()
    np.testing.assert_allclose(found[0]["data"][0], both["weight"], rtol=1e-4)
    moved = np.array(found[0]["data"][1])
    np.testing.assert_array_equal(np.rint(moved), both["visits"])  # moved by less than half a step
    assert len(set(moved)) > both["visits"].nunique()


def test_bars_are_drawn_to_scale_and_inside_the_frame() -> None:
    table = mixed()
    for marginal in marginals(pictured(table), list(table.columns)):
        if not marginal.get("levels"):  # a histogram, or a column without any value
            continue
        chart = levels_chart(marginal)
        require_inside(chart)
        (mark,) = chart.marks
        assert [row["label"] for row in mark["rows"]] == marginal["levels"]
        for side in ("data", "knockoffs"):
            widths = [bar["width"] for bar in mark["bars"] if bar["style"] == side]
            shares = np.array(marginal[side]) / sum(marginal[side])
            np.testing.assert_allclose(
                np.array(widths) / max(widths), shares / max(shares), atol=0.01
            )


def test_a_column_without_any_level_has_a_picture() -> None:
    table = pd.DataFrame({"town": pd.Series([None] * 10, dtype="str")})
    (marginal,) = marginals(pictured(table), ["town"])
    assert marginal["levels"] == [] if "levels" in marginal else sum(marginal["data"]) == 0
    charts = draw({"marginals": [marginal], "pairs": [], "training": []} | BARE)
    for chart in charts["marginals"]:
        require_inside(chart)


BARE: dict[str, Any] = {
    "features": [{"feature": "town", "w": 1.0, "selected": True, "frequency": 1.0}],
    "thresholds": [1.0],
    "curves": [],
    "settings": {"draw_level": 0.1, "n_draws": 1, "target": None},
    "effects": {"each": []},
    "certificate": None,
}


def test_what_was_read_is_told_by_kind() -> None:
    table = mixed()
    read = columns_read(infer_schema(table))
    assert read["kinds"] == {
        "continuous": 2,
        "ordinal": 2,
        "binary": 1,
        "constant": 1,
        "nominal": 1,
    }
    assert read["missing"] == pytest.approx(table.isna().to_numpy().mean(), abs=1e-6)
    assert read["with_missing"] == 7
    assert columns_read(infer_schema(np.eye(4))) == {
        "kinds": {"binary": 4},
        "missing": 0.0,
        "with_missing": 0,
    }


def test_the_page_tells_of_levels_and_missing_cells(fitted: KnockoffSelector) -> None:
    summary = summary_of(fitted, mixed())
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    page = render(summary, made=MADE)
    assert "2 continuous, 2 ordinal, 1 binary, 1 constant, 1 nominal" in page
    assert "of the cells are missing, in 7 of the columns" in page
    assert "Aa: " in page
    assert "No cell is missing." in render(summarise(fitted), made=MADE)
    assert "nan" not in page.lower()


def test_nothing_that_a_level_could_run(fitted: KnockoffSelector) -> None:
    table = pd.DataFrame({"town": NASTY * 4})
    page = render(summary_of(fitted, table), made=MADE)
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    assert {tag for tag, _ in tags.seen}.isdisjoint({"img", "b"})
    assert [tag for tag, _ in tags.seen].count("script") == 1
    for tag, attributes in tags.seen:
        assert not any(name.startswith("on") for name in attributes), tag
