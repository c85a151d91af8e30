"""Missing cells are filled in by draws from the distribution of complete rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr

from knockoffs import (
    GaussianKnockoffs,
    KnockoffSelector,
    KnockoffWarning,
    LassoStatistic,
    complete_table,
)
from knockoffs.datasets import AutoregressiveGaussian
from knockoffs.generators.completion import complete_again
from knockoffs.table.table import read_table

LAW = AutoregressiveGaussian(features=6, rho=0.7)


def rows_with_gaps(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Complete rows, and the same with gaps in column 1 that depend on column 0,
    which is always there.
    """
    x = LAW.sample(rows, random_state=seed)
    gaps = np.random.default_rng(seed).random(rows) < 0.8 * ndtr(1.5 * x[:, 0])
    observed = x.copy()
    observed[gaps, 1] = np.nan
    return x, observed


def test_completed_rows_have_the_distribution_of_complete_rows() -> None:
    """The observed cells alone do not: where column 0 is large, column 1 is missing."""
    x, observed = rows_with_gaps(4000, 0)
    completed = complete_table(observed, random_state=0)
    assert np.nanmean(observed[:, 1]) < -0.2
    assert abs(completed[:, 1].mean()) < 0.08
    np.testing.assert_allclose(np.corrcoef(completed.T), np.corrcoef(x.T), atol=0.05)
    assert completed[:, 1].std() == pytest.approx(1.0, abs=0.06)


def test_cells_that_are_there_do_not_change_and_types_stay() -> None:
    rng = np.random.default_rng(0)
    z = LAW.sample(300, random_state=1)
    table = pd.DataFrame(
        {
            "age": z[:, 0],
            "ward": pd.Categorical(
                np.where(z[:, 1] < -0.5, "north", np.where(z[:, 1] < 0.5, "east", "west"))
            ),
            "visits": pd.array(np.rint(3 + z[:, 2]).astype(int), dtype="Int64"),
            "smoker": pd.array(z[:, 3] > 0, dtype="boolean"),
            "sex": np.where(z[:, 4] > 0, "f", "m"),
        }
    )
    gaps = pd.DataFrame(rng.random(table.shape) < 0.2, columns=table.columns)
    observed = table.mask(gaps).astype(table.dtypes)
    kept = observed.copy()
    completed = complete_table(observed, random_state=0)
    pd.testing.assert_frame_equal(observed, kept)
    pd.testing.assert_series_equal(completed.dtypes, table.dtypes)
    assert not completed.isna().any(axis=None)
    for name in table:
        there = ~gaps[name]
        assert (completed.loc[there, name] == table.loc[there, name]).all()
        assert (
            completed.loc[gaps[name], name] == table.loc[gaps[name], name]
        ).mean() < 1 or name == "age"
    pd.testing.assert_frame_equal(complete_table(observed, random_state=0), completed)


def test_a_table_without_gaps_stays_as_it_is_and_one_without_cells_is_refused() -> None:
    x = LAW.sample(100, random_state=0)
    np.testing.assert_array_equal(complete_table(x, random_state=0), x)
    assert complete_table(pd.DataFrame(x[:0])).shape == (0, 6)
    x[:, 2] = np.nan
    with pytest.raises(ValueError, match="column 'x2': entirely missing"):
        complete_table(x)


def test_a_mark_that_no_mean_can_hold_is_named_instead_of_leaving_gaps() -> None:
    x = LAW.sample(200, random_state=0)
    x[::7, 1] = np.nan
    x[3, 2] = -1.7e308
    with pytest.raises(
        ValueError, match=r"column 'x2' \(-1\.7e\+308 to .*missing cells if they mark"
    ):
        complete_table(x, random_state=0)


def test_mostly_missing_columns_are_warned_of() -> None:
    x = LAW.sample(200, random_state=0)
    x[:120, 3] = np.nan
    with pytest.warns(KnockoffWarning, match=r"column 'x3' \(60%\): mostly missing"):
        complete_table(x, random_state=0)


stand_ins = pytest.mark.filterwarnings("ignore:Discoveries may stand in:knockoffs.KnockoffWarning")


@stand_ins
@pytest.mark.filterwarnings("ignore:Nothing is selected:knockoffs.KnockoffWarning")
def test_gaps_that_tell_of_the_target_are_a_discovery_of_the_column_as_observed_alone() -> None:
    """As where a test is ordered for those who are ill: its result says nothing more,
    that it was made does.
    """
    w: dict[str, list[float]] = {"value": [], "complete": []}
    for seed in range(10):
        x = LAW.sample(600, random_state=seed)
        rng = np.random.default_rng(seed)
        y = x[:, 0] + rng.normal(size=600)
        observed = x.copy()
        observed[rng.random(600) < ndtr(2 * (y - x[:, 0]) - 1), 4] = np.nan
        for missing, found in w.items():
            settings = {"missing": missing, "fdr": 0.5, "certify": False, "random_state": seed}
            fitted = KnockoffSelector(GaussianKnockoffs(), LassoStatistic(), **settings).fit(
                observed, y
            )
            assert fitted.w_[0] > 0
            found.append(fitted.w_[4])
    assert min(w["value"]) > 0.1
    assert np.abs(w["complete"]).max() < 0.1


def completing(seed: int | np.random.Generator | None) -> KnockoffSelector:
    return KnockoffSelector(
        GaussianKnockoffs(),
        LassoStatistic(),
        fdr=0.5,
        certify=False,
        missing="complete",
        random_state=seed,
    )


@stand_ins
@pytest.mark.parametrize("seed", [None, np.random.default_rng(0)])
def test_the_seed_that_is_reported_gives_the_same_completion(
    seed: np.random.Generator | None,
) -> None:
    _, observed = rows_with_gaps(200, 0)
    y = observed[:, [0, 2, 3, 4]].sum(1) + np.random.default_rng(1).normal(size=200)
    first = completing(seed).fit(observed, y)
    again = completing(first.selection_.seed).fit(observed, y)
    np.testing.assert_array_equal(first.w_, again.w_)


def test_rows_that_repeat_others_are_found_also_where_cells_are_filled_in() -> None:
    _, observed = rows_with_gaps(150, 0)
    seen: list[np.ndarray] = []

    def reversed_rows(x: np.ndarray) -> np.ndarray:
        seen.append(x)
        return x[::-1]

    twice = np.concatenate([observed, observed])
    y = np.random.default_rng(1).normal(size=300)
    selector = completing(0).set_params(generator=reversed_rows)
    with pytest.warns(KnockoffWarning) as warned:
        selector.fit(twice, y)
    assert any("150 of 300 rows repeat another row exactly" in str(one.message) for one in warned)
    assert seen[0].shape == (150, 6)
    assert np.isfinite(seen[0]).all()


def test_what_is_constant_within_groups_stays_so() -> None:
    """The sex of a patient is one, also where it is filled in for several visits."""
    _, observed = rows_with_gaps(200, 0)
    patient = np.repeat(np.arange(50), 4)
    observed[:, 1] = observed[::4, 1][patient]
    assert 0 < np.isnan(observed[:, 1]).mean() < 0.5
    seen: list[np.ndarray] = []

    def reversed_rows(x: np.ndarray) -> np.ndarray:
        seen.append(x)
        return x[::-1]

    selector = completing(0).set_params(generator=reversed_rows)
    with pytest.warns(KnockoffWarning):  # a function knows nothing of groups
        selector.fit(observed, np.random.default_rng(1).normal(size=200), groups=patient)
    np.testing.assert_array_equal(seen[0][:, 1], seen[0][::4, 1][patient])
    assert np.isfinite(seen[0]).all()


def test_cells_that_are_filled_in_hide_nothing_that_is_warned_of() -> None:
    """A copy of the target with gaps is one still, and the draws in its gaps are none."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(200, 6)), columns=list("abcdef"))
    y = table.sum(axis=1)
    table["again"] = (2 * y).mask(rng.random(200) < 0.3)
    selector = KnockoffSelector(
        "gaussian", "lasso", fdr=0.4, missing="complete", certify=False, random_state=0
    )
    with pytest.warns(KnockoffWarning, match="column 'again': a copy of the target y"):
        selector.fit(table, y)


def pairs_with_gaps(
    share: float, rows: int = 600, pairs: int = 15
) -> tuple[np.ndarray, np.ndarray]:
    """Relevant columns that miss a share of their cells,
    each beside a proxy that y does not depend on.
    """
    rng = np.random.default_rng(3)
    x = np.repeat(rng.normal(size=(rows, pairs)), 2, axis=1)
    x[:, 1::2] = 0.7 * x[:, 1::2] + np.sqrt(0.51) * rng.normal(size=(rows, pairs))
    y = x[:, ::2].sum(1) + 2 * rng.normal(size=rows)
    x[:, ::2][rng.random((rows, pairs)) < share] = np.nan
    return x, y


@pytest.mark.filterwarnings("ignore::knockoffs.KnockoffWarning")
def test_the_check_counts_discoveries_that_stand_in_for_lost_cells() -> None:
    """A proxy of a relevant column still tells what its missing cells would have told:
    two in five are false.
    """
    expected, verdicts, cautions = [], [], []
    for share in (0.0, 0.4):
        x, y = pairs_with_gaps(share)
        fitted = KnockoffSelector(
            GaussianKnockoffs(), LassoStatistic(), fdr=0.2, missing="complete", random_state=0
        ).fit(x, y)
        expected.append(fitted.expectation_.rate(0.2).fdp)
        verdicts.append(fitted.certificate_.verdict)
        cautions.append(
            [said for said in fitted.selection_.cautions if "stand in for cells" in said]
        )
    assert expected[0] < 0.2 < 0.25 < expected[1]
    assert verdicts[0] == "pass" != verdicts[1]
    assert cautions[0] == []
    assert (
        "'x1' for 'x0' (correlation 0.6" in cautions[1][0]
        or "'x1' for 'x0' (correlation 0.7" in cautions[1][0]
    )


def test_rows_are_completed_again_where_cells_were_missing_alone() -> None:
    x, observed = rows_with_gaps(200, 0)
    table, gaps = read_table(x, who="test"), np.isnan(observed)
    again = complete_again(table, gaps, None, seed=1).codes
    np.testing.assert_array_equal(again[~gaps], x[~gaps])
    assert (again[gaps] != x[gaps]).mean() > 0.9
