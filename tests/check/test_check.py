"""check_swap: exact knockoffs pass, broken ones fail, and whatever is passed is treated well."""

from __future__ import annotations

import random
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator

from knockoffs import DDLK, GaussianKnockoffs, HoldoutStatistic, LassoStatistic, check_swap
from knockoffs.check import examine as check
from knockoffs.check.certificate import Certificate
from knockoffs.check.dry_run import KINDS
from knockoffs.check.expectation import DRAWS
from knockoffs.datasets import AutoregressiveGaussian, symmetrised
from knockoffs.runtime.arrays import Array

from .conftest import LAW, discrete_pair, exact_pair

ROWS = 200
X, X_TILDE = exact_pair(ROWS, 0)
NAMES = [*"abcde", "<f>"]


def checked(x_tilde: Array, x: Array = X, **settings: Any) -> Certificate:
    return check_swap((x, x_tilde), **({"random_state": 0} | settings))


def same(one: Certificate, other: Certificate, *, but: tuple[str, ...] = ()) -> bool:
    first, second = ({k: v for k, v in c.to_dict().items() if k not in but} for c in (one, other))
    return first == second


# what passes and what fails


def changed(change: Callable[[Array], Array]) -> Array:
    return change(X_TILDE.copy())


def column(j: int, change: Callable[[Array], Array]) -> Callable[[Array], Array]:
    def apply(x_tilde: Array) -> Array:
        x_tilde[:, j] = change(x_tilde[:, j])
        return x_tilde

    return apply


BROKEN = {
    "columns permuted": lambda t: t[:, [1, 2, 3, 4, 5, 0]],
    "rows shifted": lambda _: np.roll(X, 1, axis=0),
    "a column too wide": column(3, lambda t: 1 + 2 * (t - 1)),
    "a column too narrow": column(3, lambda t: 1 + (t - 1) / 2),
    "a column moved": column(0, lambda t: t + 1),
    "a column upside down": column(2, lambda t: 2 - t),
    "noise": lambda t: np.random.default_rng(0).normal(1, 1, size=t.shape),
    "each column shuffled": lambda t: np.stack(
        [np.random.default_rng(j).permutation(X[:, j]) for j in range(6)], 1
    ),
    "a constant": column(1, np.zeros_like),
}


@pytest.mark.parametrize("change", BROKEN.values(), ids=BROKEN.keys())
def test_broken_knockoffs_fail(change: Callable[[Array], Array]) -> None:
    """Nothing can be selected of six features at 0.03, nor at five times that level:
    the tests decide.
    """
    found = checked(changed(change), fdr=0.03)
    assert found.found.judged is None
    assert found.verdict == found.validity == "fail"
    assert found.p_value < 0.01
    assert found.advice


@pytest.mark.parametrize("change", BROKEN.values(), ids=BROKEN.keys())
def test_where_selections_are_made_their_false_ones_decide_and_the_tests_explain(
    change: Callable[[Array], Array],
) -> None:
    """At level 0.5 of the filter almost every response leads to a selection."""
    found = checked(changed(change), fdr=0.5, statistic=LassoStatistic())
    rate = found.found.judged
    assert rate == found.expected
    above = rate.fdp - 2 * rate.fdp_error > 0.5
    wins, counted = found.found.null_wins
    slight = "warn" if ((wins >= 0.8) & (counted >= 40)).any() else "pass"
    assert found.validity == (("fail" if rate.fdp > 0.75 else "warn") if above else slight)
    assert found.p_value < 0.01
    told = (
        "tell rows from rows with",
        "tells rows from rows with",
        "the knockoff's distribution, or how it depends",
    )
    assert any(words in reason for reason in found.reasons[1:] for words in told)


def test_what_is_said_of_a_feature_is_true_where_only_its_dependence_is_wrong() -> None:
    """The knockoff of column 3 has the values of that column, in other rows."""
    law = AutoregressiveGaussian(features=8, rho=0.7)
    x = law.sample(1000, random_state=0)
    x_tilde = law.knockoffs(x, random_state=1)
    x_tilde[:, 3] = np.random.default_rng(0).permutation(x[:, 3])
    found = check_swap((x, x_tilde), fdr=0.3, random_state=0)
    (said,) = [reason for reason in found.reasons if reason.startswith("'x3'")]
    assert "the knockoff's distribution, or how it depends on other features, differs" in said
    assert "Kolmogorov-Smirnov distance 0.000" in said


CORRELATED = AutoregressiveGaussian(features=30, rho=0.9)
MANY = CORRELATED.sample(500, random_state=0)


STRONGLY_CORRELATED = AutoregressiveGaussian(features=60, rho=0.97).sample(500, random_state=0)


@pytest.mark.parametrize("statistic", [LassoStatistic(), HoldoutStatistic()])
def test_the_verdict_is_fail_where_false_discoveries_are_far_above_the_level(
    statistic: Any,
) -> None:
    shuffled = np.random.default_rng(0).permutation(STRONGLY_CORRELATED)
    found = check_swap(
        (STRONGLY_CORRELATED, shuffled), fdr=0.2, statistic=statistic, random_state=0
    )
    assert found.validity == "fail"
    assert found.expected.fdp > 0.3
    assert found.reasons[0].startswith("At level 0.2 expect a share of")


def test_exact_knockoffs_of_correlated_features_pass() -> None:
    found = check_swap((MANY, CORRELATED.knockoffs(MANY, random_state=1)), fdr=0.2, random_state=0)
    assert (found.validity, found.found.alternatives) == ("pass", ())


EXACT = {
    "gaussian": (X, X_TILDE),
    "discrete": discrete_pair(ROWS, 1),
    "made so by coins": symmetrised(X, np.random.default_rng(0).normal(size=X.shape) ** 3, 0),
    "binary": tuple((t > 1).astype(float) for t in (X, X_TILDE)),
    "an odd number of rows": (X[:101], X_TILDE[:101]),
    "few rows": (X[:20], X_TILDE[:20]),
    "one column": (X[:, :1], X_TILDE[:, :1]),
    "two columns": (X[:, :2], X_TILDE[:, :2]),
}


@pytest.mark.parametrize("pair", EXACT.values(), ids=EXACT.keys())
def test_exact_knockoffs_pass(pair: tuple[Array, Array]) -> None:
    found = check_swap(pair, random_state=0)
    assert found.validity == "pass"
    assert found.p_value > 0.01
    # trees need rows to tell anything
    assert len(found.found.tests) == (12 if len(pair[0]) >= 80 else 8)


def clustered_pairs(exact_in_groups: bool, seed: int) -> tuple[tuple[Array, Array], Array]:
    """Rows of 60 groups with their knockoffs, which are exact for whole groups or for each row
    alone.
    """
    groups = np.repeat(np.arange(60), 5)
    common, common_tilde = (t[groups] for t in exact_pair(60, seed))
    own, own_tilde = exact_pair(300, seed + 100)
    x = np.sqrt(0.8) * common + np.sqrt(0.2) * own
    if exact_in_groups:
        return (x, np.sqrt(0.8) * common_tilde + np.sqrt(0.2) * own_tilde), groups
    return (x, LAW.knockoffs(x, random_state=seed)), groups


def test_exact_knockoffs_of_groups_pass() -> None:
    p_values = []
    for seed in range(10):
        pair, groups = clustered_pairs(True, seed)
        p_values.append(check_swap(pair, groups=groups, random_state=seed).p_value)
    assert min(p_values) > 0.01
    assert np.mean(np.array(p_values) <= 0.25) <= 0.25 + 2 * np.sqrt(0.25 * 0.75 / 10)


def test_knockoffs_that_are_exact_for_rows_alone_fail_where_rows_belong_together() -> None:
    for seed in range(5):
        pair, groups = clustered_pairs(False, seed)
        found = check_swap(pair, groups=groups, fdr=0.03, random_state=seed)
        assert found.found.judged is None  # six features: no selections, so the tests decide
        assert found.validity == "fail"
        one_row_each = tuple(table[::5] for table in pair)
        # the fault is not in single rows
        assert check_swap(one_row_each, random_state=seed).validity == "pass"


def test_groups_of_one_row_each_change_nothing() -> None:
    one, other = (
        check_swap((X, X_TILDE), groups=np.arange(ROWS), random_state=0),
        check_swap((X, X_TILDE), random_state=0),
    )
    assert one.validity == other.validity == "pass"
    assert one.found.feature_rows == other.found.feature_rows


def test_exact_knockoffs_hardly_ever_fail() -> None:
    found = [check_swap(exact_pair(30, seed), random_state=seed).p_value for seed in range(20)]
    for alpha in (0.05, 0.1, 0.25, 0.5):
        assert np.mean(np.array(found) <= alpha) <= alpha


def test_a_fitted_generator_passes_on_rows_it_has_not_seen() -> None:
    model = GaussianKnockoffs(random_state=0).fit(LAW.sample(1000, random_state=5))
    found = check_swap(model, X, random_state=0)
    assert found.verdict == "pass"
    assert found.found.rows == ROWS


@pytest.mark.parametrize("size", [0.0, 1e-6, 1e-3])
def test_copies_are_valid_and_powerless(size: float) -> None:
    found = checked(X + size * np.random.default_rng(0).normal(size=X.shape))
    assert (found.verdict, found.validity, found.power) == ("warn", "pass", "warn")
    assert found.found.copied.all() == (size == 0)


def test_one_copied_column_has_no_figures_and_spoils_no_others() -> None:
    one_copied = checked(changed(column(2, lambda _: X[:, 2])))
    figures = one_copied.found.per_feature
    assert one_copied.found.copied.tolist() == [False, False, True, False, False, False]
    assert all(
        np.isnan(values[2]) and np.isfinite(np.delete(values, 2)).all() for values in figures
    )
    without = [0, 1, 3, 4, 5]
    alone = checked(X_TILDE[:, without], X[:, without])
    for name, values in alone.found.per_feature._asdict().items():
        np.testing.assert_array_equal(getattr(figures, name)[without], values)
    assert one_copied.p_value == alone.p_value


# invariance


@pytest.mark.parametrize("increase", [np.exp, lambda t: t**3, lambda t: 1e3 * t - 7])
def test_increasing_maps_of_columns_change_no_verdict(increase: Callable[[Array], Array]) -> None:
    raw = ("covariance_error", "cross_covariance_error", "features")  # in the units of the data
    x_tilde = changed(column(3, lambda t: 1 + 1.2 * (t - 1)))
    one, other = checked(x_tilde), checked(increase(x_tilde), increase(X))
    assert same(one, other, but=raw)
    for name in ("ks", "ks_p", "shift", "shift_p", "freedom"):
        np.testing.assert_array_equal(
            getattr(one.found.per_feature, name), getattr(other.found.per_feature, name)
        )


def test_the_order_of_columns_only_orders_the_features() -> None:
    order = [4, 2, 0, 5, 1, 3]
    one, other = checked(X_TILDE), checked(X_TILDE[:, order], X[:, order])
    for name, values in one.found.per_feature._asdict().items():
        np.testing.assert_allclose(
            getattr(other.found.per_feature, name), values[order], rtol=1e-4, atol=1e-6
        )


def test_huge_and_tiny_units_do_not_matter() -> None:
    for unit in (1e200, 1e-200):
        assert checked(unit * X_TILDE, unit * X).verdict == "pass"


def test_a_table_of_constants_has_nothing_to_find() -> None:
    found = checked(np.ones((50, 4)), np.ones((50, 4)))
    assert (found.validity, found.power) == ("pass", "warn")
    assert found.expected.power == found.expected.fdp == 0


def test_a_rare_indicator_that_no_row_here_has() -> None:
    x, x_tilde = X.copy(), X_TILDE.copy()
    x[:, 1], x_tilde[:, 1] = 0.0, np.arange(ROWS) == 9
    found = checked(x_tilde, x)
    assert found.validity == "pass"
    assert np.isfinite([found.found.covariance_error, found.found.cross_covariance_error]).all()


# tables and generators


def test_all_kinds_of_table_give_the_same_certificate() -> None:
    expected = checked(X_TILDE)
    frames = [pd.DataFrame(t, columns=NAMES) for t in (X, X_TILDE)]
    for pair in (frames, [pl.from_pandas(t) for t in frames], [X.tolist(), X_TILDE.tolist()]):
        found = check_swap(tuple(pair), random_state=0)
        assert same(found, expected, but=("features",))
        names = [f"x{j}" for j in range(6)] if isinstance(pair[0], list) else NAMES
        assert found.found.names == tuple(names)


def test_generators_of_all_kinds_agree() -> None:
    frame = pd.DataFrame(X, columns=NAMES)
    model = GaussianKnockoffs(random_state=0).fit(frame[:100])
    expected = check_swap(model, frame[100:], random_state=0)
    # some of the latter were used for the fit, which the verdict says
    for rows in (frame[100:], frame[50:]):
        assert same(
            check_swap(FrozenEstimator(model), rows, random_state=0),
            check_swap(model, rows, random_state=0),
        )
    seeds = []

    class Told:
        def sample(self, table: Any, *, random_state: int) -> Any:
            seeds.append(random_state)
            return model.sample(table, random_state=random_state)

    assert same(check_swap(Told(), frame[100:], random_state=0), expected, but=("subject",))
    # for the simulated responses, and for the tests
    assert len(set(seeds)) == len(seeds) == DRAWS + 1
    remaining = iter(seeds)
    by_function = check_swap(
        lambda t: model.sample(t, random_state=next(remaining)), frame[100:], random_state=0
    )
    assert same(by_function, expected, but=("subject",))


def test_a_pair_is_what_a_function_would_have_drawn_each_time() -> None:
    by_function = check_swap(lambda _: X_TILDE, X, random_state=0)
    assert same(checked(X_TILDE), by_function, but=("subject",))


def test_knockoffs_are_drawn_with_the_seed_passed() -> None:
    model = GaussianKnockoffs().fit(X[:100])  # without a seed of its own
    one, again, other = (check_swap(model, X[100:], random_state=seed) for seed in (0, 0, 1))
    assert same(one, again)
    assert not same(one, other)


def test_what_is_passed_is_left_alone() -> None:
    frame = pd.DataFrame(X, columns=NAMES)
    model = GaussianKnockoffs(random_state=0).fit(frame[:100])
    kept, settings = frame.copy(), model.get_params()
    random.seed(1)
    torch.manual_seed(1)
    before = (random.getstate(), torch.get_rng_state())
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    check_swap(
        model, frame[100:], dry_run=True, statistic=LassoStatistic(), replicates=1, random_state=0
    )
    read_only = X.copy()
    read_only.flags.writeable = False
    check_swap((read_only, read_only[::-1]), random_state=0)
    pd.testing.assert_frame_equal(frame, kept)
    assert model.get_params() == settings
    assert random.getstate() == before[0]
    assert torch.equal(torch.get_rng_state(), before[1])
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002


def test_more_rows_than_the_tests_use_are_thinned_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "SWAP_ROWS", 50)
    monkeypatch.setattr(check, "FEATURE_ROWS", 100)
    x_tilde = X_TILDE.copy()
    x_tilde[0, 3] += 1e-3
    x_tilde[1:, 3] = X[1:, 3]  # a copy in all rows but one, hence in most parts
    for seed in range(3):
        assert checked(x_tilde, random_state=seed).validity in ("pass", "warn", "fail")
    assert checked(X_TILDE).verdict == "pass"
    assert checked(X_TILDE).found.rows == ROWS
    assert checked(changed(BROKEN["noise"])).p_value < 0.01


def test_a_dry_run_counts_false_discoveries() -> None:
    settings = {
        "dry_run": True,
        "statistic": LassoStatistic(),
        "replicates": 2,
        "levels": (0.2, 0.5),
    }
    model = GaussianKnockoffs().fit(X[:100])
    found = check_swap(model, X[100:], random_state=0, **settings)
    rates = found.found.dry_run
    assert [(r.response, r.level) for r in rates] == [
        (kind, q) for kind in KINDS for q in (0.2, 0.5)
    ]
    assert same(found, check_swap(model, X[100:], random_state=0, **settings))
    assert check_swap(model, X[100:], random_state=0).found.dry_run == ()


# errors

FRAME, OTHER = pd.DataFrame(X, columns=NAMES), pd.DataFrame(X_TILDE, columns=NAMES)
ERRORS = {
    "X missing": ((lambda t: t,), {}, r"X is missing.*not fitted on"),
    "a pair and X": (((X, X_TILDE), X), {}, r"pass a generator and X, or one pair"),
    "three tables": (((X, X, X),), {}, r"one pair \(X, X_tilde\)"),
    "other rows": (((X, X_TILDE[:-1]),), {}, r"shape \(200, 6\), its knockoffs \(199, 6\)"),
    "other columns": (((X, X_TILDE[:, 1:]),), {}, r"\(200, 6\), its knockoffs \(200, 5\)"),
    "a function of another shape": ((lambda t: t[:3], X), {}, r"its knockoffs \(3, 6\)"),
    "too few rows": (((X[:19], X_TILDE[:19]),), {}, r"X has 19 rows; at least 20"),
    "no columns": (((X[:, :0], X_TILDE[:, :0]),), {}, r"X has no columns\. Pass the features"),
    "a name": (("gaussian", X), {}, r"generator of type str is not valid: pass a fitted generator"),
    "infinite X": (
        ((np.where(X > 3, np.inf, X), X_TILDE),),
        {},
        r"^check_swap: .*column 'x0'.*infinite values",
    ),
    "infinite knockoffs": (
        ((X, np.where(X > 3, np.inf, X)),),
        {},
        r"the knockoffs.*column 'x0'.*infinite values",
    ),
    "text for numbers": (
        ((FRAME, OTHER.assign(b="high")),),
        {},
        r"column 'b': text in one of X and X_tilde",
    ),
    "no level": (((X, X_TILDE),), {"levels": (0.1, 1.5)}, r"levels=1.5 is not valid"),
    "no cores": (((X, X_TILDE),), {"n_jobs": 0}, r"n_jobs=0 is not valid"),
    "no replicates": (((X, X_TILDE),), {"replicates": 0}, r"replicates=0 is not valid"),
    "two tables": ((FRAME, OTHER), {}, r"pair \(X, X_tilde\)"),
    "a class": ((GaussianKnockoffs, X), {}, r"fitted generator"),
    "columns in another order": (((FRAME, OTHER[NAMES[::-1]]),), {}, r"(?i)column|names"),
    "other columns first": (
        (lambda t: t[NAMES[::-1]], FRAME),
        {},
        r"the columns of X in another order",
    ),
    "rows in another order": (
        ((FRAME, OTHER[::-1]),),
        {},
        r"row labels of X in another order.*\.loc\[X\.index\]",
    ),
    "an offset": (((X, X_TILDE),), {"offset": 2}, r"offset=2 is not valid"),
    "a rate": (((X, X_TILDE),), {"fdr": 10}, r"fdr=10 is not valid"),
    "a task": (
        ((X, X_TILDE),),
        {"task": "auto"},
        r"task='auto' is not valid.*regression.*classification",
    ),
}


@pytest.mark.parametrize(("arguments", "settings", "said"), ERRORS.values(), ids=ERRORS.keys())
def test_errors_name_what_is_wrong(arguments: Any, settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said) as raised:
        check_swap(*arguments, **settings)
    assert len(str(raised.value)) < 600


def test_a_generator_that_is_not_fitted_says_so() -> None:
    with pytest.raises(NotFittedError, match=r"GaussianKnockoffs.*fit"):
        check_swap(GaussianKnockoffs(), X)


def test_too_few_rows_are_refused_before_the_work() -> None:
    def drawn(_: Any) -> None:
        raise AssertionError("knockoffs were drawn")

    with pytest.raises(ValueError, match="at least 20"):
        check_swap(drawn, X[:19])


def test_a_deep_generator_with_discrete_and_constant_columns(
    fast_ddlk: Callable[..., DDLK],
) -> None:
    table = pd.DataFrame(X, columns=NAMES).assign(a=np.rint(X[:, 0]), b=X[:, 1] > 1, c=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = fast_ddlk().fit(table[:100])
    found = check_swap(model, table[100:], random_state=0)
    assert found.found.copied.tolist() == [False, False, True, False, False, False]
    assert re.match("DDLK", found.found.subject)
    assert np.isfinite(found.found.divergence.single).all()
