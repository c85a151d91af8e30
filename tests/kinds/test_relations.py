"""Logical relations between columns: found where there are any,
and kept by knockoffs in every row.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtri

from knockoffs import DDLK, GaussianKnockoffs, HierarchicalKnockoffs, KnockoffWarning, check_swap
from knockoffs.datasets import AutoregressiveGaussian
from knockoffs.kinds.relations import MOST_CLASSES, Context, find_contexts
from knockoffs.table.table import read_table

CITIES = np.array(["Bern", "Basel", "Lyon", "Paris", "Lille", "Rome", "Milan"])
COUNTRY = {"B": "CH", "L": "FR", "P": "FR", "R": "IT", "M": "IT"}
Holds = Callable[[pd.DataFrame], pd.Series]


def contexts(X: object) -> list[Context]:
    table = read_table(X, who="test")
    return find_contexts(table.codes, list(table.schema))


def base(rows: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Two columns that relate to nothing, one of them with gaps, and noise."""
    z = AutoregressiveGaussian(features=6, rho=0.5).sample(rows, random_state=seed)
    frame = pd.DataFrame({"age": z[:, 0], "sex": np.where(z[:, 1] > 0, "f", "m")})
    frame.loc[z[:, 5] > 1, "age"] = np.nan
    return frame, z


def gaps_together(rows: int, seed: int) -> tuple[pd.DataFrame, Holds]:
    frame, z = base(rows, seed)
    gap = z[:, 2] > 0.5
    frame["systolic"], frame["diastolic"] = (
        np.where(gap, np.nan, z[:, 3]),
        np.where(gap, np.nan, z[:, 4]),
    )
    return frame, lambda x: x["systolic"].isna() == x["diastolic"].isna()


def gaps_in_turn(rows: int, seed: int) -> tuple[pd.DataFrame, Holds]:
    frame, z = base(rows, seed)
    gap = z[:, 2] > 0.5
    frame["old device"], frame["new device"] = (
        np.where(gap, np.nan, z[:, 3]),
        np.where(gap, z[:, 4], np.nan),
    )
    return frame, lambda x: x["old device"].isna() != x["new device"].isna()


def coarser(rows: int, seed: int) -> tuple[pd.DataFrame, Holds]:
    frame, z = base(rows, seed)
    frame["city"] = CITIES[np.digitize(z[:, 2], np.linspace(-1.2, 1.2, 6))]
    frame["country"] = frame["city"].str[0].map(COUNTRY)
    return frame, lambda x: x["city"].str[0].map(COUNTRY) == x["country"]


def many_fine_levels(rows: int, seed: int) -> tuple[pd.DataFrame, Holds]:
    frame, _ = base(rows, seed)
    ward = np.random.default_rng(seed).integers(0, 70, rows)
    frame["ward"] = [f"{'ABC'[k % 3]}{k}" for k in ward]
    frame["floor"] = frame["ward"].str[0]
    return frame, lambda x: x["ward"].str[0] == x["floor"]


def positive_part(rows: int, seed: int) -> tuple[pd.DataFrame, Holds]:
    frame, z = base(rows, seed)
    frame["dose"] = np.maximum(z[:, 2], 0.0)
    frame["treated"] = frame["dose"] > 0
    return frame, lambda x: x["treated"] == (x["dose"] > 0)


def cut_quantity(rows: int, seed: int) -> tuple[pd.DataFrame, Holds]:
    frame, z = base(rows, seed)
    frame["weight"] = 70 + 10 * z[:, 2]
    frame["heavy"] = np.array(["light", "normal", "heavy"])[
        np.digitize(frame["weight"], [60.0, 80.0])
    ]
    names = np.array(["light", "normal", "heavy"])
    return frame, lambda x: x["heavy"] == names[np.digitize(x["weight"], [60.0, 80.0])]


def cut_quantity_with_gaps(rows: int, seed: int) -> tuple[pd.DataFrame, Holds]:
    frame, holds = cut_quantity(rows, seed)
    gap = np.random.default_rng(seed).random(rows) < 0.2
    frame.loc[gap, "weight"] = np.nan
    frame.loc[gap, "heavy"] = "unknown"
    return frame, lambda x: holds(x) | (x["weight"].isna() & (x["heavy"] == "unknown"))


def none_or_how_many(rows: int, seed: int) -> tuple[pd.DataFrame, Holds]:
    frame, z = base(rows, seed)
    frame["cigarettes"] = np.where(z[:, 2] < 0.3, 0, np.rint(np.exp(1 + z[:, 3])) + 1).astype(int)
    frame["smoker"] = np.where(frame["cigarettes"] > 0, "yes", "no")
    return frame, lambda x: (x["smoker"] == "yes") == (x["cigarettes"] > 0)


def none_or_very_many(rows: int, seed: int) -> tuple[pd.DataFrame, Holds]:
    """A count with more values than all states of a feature that others determine may be."""
    frame, z = base(rows, seed)
    frame["days"] = np.where(z[:, 2] < 0.3, 0, np.rint(300 + 80 * z[:, 3])).astype(int)
    frame["stayed"] = np.where(frame["days"] > 0, "yes", "no")
    return frame, lambda x: (x["stayed"] == "yes") == (x["days"] > 0)


def two_names(rows: int, seed: int) -> tuple[pd.DataFrame, Holds]:
    """Each of two features is a function of the other, so that both are copied."""
    frame, z = base(rows, seed)
    frame["outcome"] = np.where(z[:, 2] > 0.4, "died", "lived")
    frame["dead"] = (z[:, 2] > 0.4).astype(int)
    frame["weight"] = z[:, 3]
    return frame, lambda x: (x["outcome"] == "died") == (x["dead"] == 1)


RELATIONS = {
    "gaps together": gaps_together,
    "gaps in turn": gaps_in_turn,
    "coarser category": coarser,
    "many fine levels": many_fine_levels,
    "positive part": positive_part,
    "cut quantity": cut_quantity,
    "cut quantity with gaps": cut_quantity_with_gaps,
    "none or how many": none_or_how_many,
    "none or very many": none_or_very_many,
    "two names": two_names,
}
DETERMINED = "ignore:.*determined by other columns:knockoffs.KnockoffWarning"
each_relation = pytest.mark.parametrize("make", RELATIONS.values(), ids=RELATIONS.keys())


@each_relation
@pytest.mark.filterwarnings(DETERMINED)
def test_relations_are_found_and_knockoffs_keep_them_in_every_row(make: Callable) -> None:
    x, holds = make(500, 0)
    assert holds(x).all()
    names = x.columns.tolist()
    related = set(names[2:]) - ({"weight"} if make is two_names else set())
    (found,) = contexts(x)
    assert {names[j] for j in found.members} == related
    fresh, _ = make(700, 1)
    model = GaussianKnockoffs(random_state=0).fit(x)
    for knockoffs in model.sample(fresh, n_draws=3):
        assert holds(knockoffs).all()
    assert not knockoffs["sex"].equals(fresh["sex"])


@pytest.mark.parametrize(
    "make", [coarser, gaps_together, cut_quantity_with_gaps], ids=lambda f: f.__name__
)
@pytest.mark.filterwarnings(DETERMINED)
def test_relations_survive_networks_and_files(make: Callable, tmp_path: object) -> None:
    x, holds = make(200, 0)
    model = DDLK(hidden=(4,), components=2, joint_epochs=1, knockoff_epochs=1, random_state=0).fit(
        x
    )
    model.save(tmp_path / "model")
    knockoffs = DDLK.load(tmp_path / "model").sample(x)
    assert holds(knockoffs).all()
    pd.testing.assert_frame_equal(knockoffs, model.sample(x))
    determined = np.array([name == "country" for name in x])
    np.testing.assert_array_equal(np.isnan(model.swap_probability_)[determined], True)
    assert not np.isnan(model.swap_probability_)[:2].any()


def test_features_that_others_determine_are_copied_and_the_others_are_not() -> None:
    x, _ = coarser(500, 0)
    with pytest.warns(
        KnockoffWarning, match="^column 'country': determined by other columns.*a copy.*Drop"
    ):
        model = GaussianKnockoffs(random_state=0).fit(x)
    knockoffs = model.sample(x)
    np.testing.assert_array_equal(model.encoding_.copied, x.columns == "country")
    pd.testing.assert_series_equal(knockoffs["country"], x["country"])
    assert 0.2 < (knockoffs["city"] != x["city"]).mean() < 0.8


@pytest.mark.filterwarnings(DETERMINED)
def test_new_rows_that_break_a_relation_are_their_own_knockoffs() -> None:
    x, _ = coarser(500, 0)
    model = GaussianKnockoffs(random_state=0).fit(x)
    broken = x.copy()
    broken.loc[:4, "country"] = np.where(x["country"][:5] == "CH", "IT", "CH")
    with pytest.warns(KnockoffWarning, match=r"column 'city' \(5: "):
        knockoffs = model.sample(broken)
    pd.testing.assert_frame_equal(
        knockoffs.loc[:4, ["city", "country"]], broken.loc[:4, ["city", "country"]]
    )
    pd.testing.assert_frame_equal(knockoffs[5:], model.sample(x)[5:])


@pytest.mark.filterwarnings(DETERMINED)
@pytest.mark.filterwarnings("ignore:.*distinct values:knockoffs.KnockoffWarning")
def test_groups_of_rows_keep_relations() -> None:
    x, holds = coarser(300, 0)
    patient = np.repeat(np.arange(100), 3)
    x["country of birth"] = x["country"].to_numpy()[3 * patient]
    model = HierarchicalKnockoffs(GaussianKnockoffs(), random_state=0).fit(x, groups=patient)
    knockoffs = model.sample(x, groups=patient)
    assert holds(knockoffs).all()
    assert (knockoffs["city"] != x["city"]).any()
    assert (knockoffs.groupby(patient)["country of birth"].nunique() == 1).all()


def test_a_table_of_determined_features_alone_is_refused() -> None:
    x = two_names(200, 0)[0][["outcome", "dead"]]
    with pytest.raises(
        ValueError, match=r"every column of X is constant or determined by other columns.*Drop"
    ):
        GaussianKnockoffs().fit(x)


def independent(seed: int, rows: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    columns = [rng.random(rows) < share for share in (0.5, 0.1, 0.03)]
    columns += [rng.integers(0, levels, rows) for levels in (3, 5, 12, 40, 100)]
    columns += [
        rng.poisson(1, rows),
        rng.geometric(0.5, rows),
        np.maximum(rng.normal(size=rows), 0),
    ]
    columns += [rng.normal(size=rows), rng.normal(size=rows)]
    x = np.column_stack(columns).astype(float)
    gap = rng.random((rows, 4)) < (0.03, 0.1, 0.2, 0.1)
    x[:, [3, 4, 8, 12]] = np.where(gap, np.nan, x[:, [3, 4, 8, 12]])
    return x


@pytest.mark.parametrize("rows", [60, 200, 500])
def test_no_relations_are_found_among_independent_columns(rows: int) -> None:
    assert not any(contexts(independent(seed, rows)) for seed in range(40))


@pytest.mark.parametrize("rows", [20, 45, 100])
def test_values_of_single_rows_are_no_intervals_of_a_quantity(rows: int) -> None:
    rng = np.random.default_rng(0)
    for _ in range(10):
        x = np.column_stack(
            [rng.permutation(1000)[:rows], rng.normal(size=rows), rng.permutation(rows)]
        )
        assert not contexts(x)


def test_no_relations_are_found_among_strongly_correlated_columns() -> None:
    cuts = [[0], ndtri([0.9]), ndtri([0.97]), ndtri([0.25, 0.5, 0.75]), np.linspace(-2, 2, 30)]
    law = AutoregressiveGaussian(features=11, rho=0.9)
    for seed in range(40):
        z = law.sample(500, random_state=seed)
        levels = [np.digitize(z[:, j], cuts[j % 5]) for j in range(10)]
        assert not contexts(np.column_stack([*levels, z[:, 10]]).astype(float))


def test_a_relation_that_one_row_breaks_is_none() -> None:
    x, _ = coarser(500, 0)
    x.loc[0, "country"] = next(name for name in ("CH", "FR") if name != x.loc[0, "country"])
    assert not contexts(x)


def test_too_many_classes_leave_some_relations_out() -> None:
    rng = np.random.default_rng(0)
    pairs = [rng.integers(0, 4, 600) for _ in range(4)]
    whole = sum(4**k * part for k, part in enumerate(pairs))
    x = np.column_stack([*pairs, whole]).astype(float)
    (some,) = contexts(x)
    # of the last one whether it is 0
    assert [len(atoms) for atoms in some.atoms] == [4, 1, 4, 1, 4, 1, 1]
    assert len(some.keys) == 120 <= MOST_CLASSES
    (small,) = contexts(np.column_stack([*pairs[:2], pairs[0] + 4 * pairs[1]]).astype(float))
    assert len(small.keys) == 16 <= MOST_CLASSES


@pytest.mark.filterwarnings(DETERMINED)
def test_conditioning_keeps_the_symmetry_under_swaps() -> None:
    """A quantity, its sign and independent columns:
    exact knockoffs keep the sign and draw the size anew.
    """
    rng = np.random.default_rng(3)
    x = pd.DataFrame(rng.normal(size=(900, 4)), columns=list("abcd"))
    x["positive"] = np.where(x["a"] > 0, "yes", "no")
    fresh = pd.DataFrame(rng.normal(size=(900, 4)), columns=list("abcd"))
    fresh["positive"] = np.where(fresh["a"] > 0, "yes", "no")
    knockoffs = GaussianKnockoffs(random_state=0).fit(x).sample(fresh)
    assert abs(np.corrcoef(np.abs(fresh["a"]), np.abs(knockoffs["a"]))[0, 1]) < 0.1
    assert check_swap((fresh, knockoffs), random_state=0).validity == "pass"


def test_without_the_relation_the_check_fails() -> None:
    """What the context is for: independent draws of the two columns contradict each other in half
    of the rows.
    """
    rng = np.random.default_rng(3)
    x, x_tilde = (pd.DataFrame(rng.normal(size=(900, 4)), columns=list("abcd")) for _ in range(2))
    for table in (x, x_tilde):
        table["positive"] = np.where(table["a"] > 0, "yes", "no")
    assert check_swap((x, x_tilde), random_state=0).validity == "fail"


def test_gaps_that_are_nearly_those_of_another_feature_or_very_few_are_kept() -> None:
    """Drawn anew they would agree less with each other than those of the data;
    others are drawn anew.
    """
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1000, 5))
    panel = rng.random(1000) < 0.4
    x[panel ^ (rng.random(1000) < 0.02), 0] = np.nan
    x[panel ^ (rng.random(1000) < 0.02), 1] = np.nan
    x[rng.random(1000) < 0.4, 2] = np.nan
    x[:4, 3] = np.nan
    x_tilde = GaussianKnockoffs(random_state=0).fit(x).sample(x)
    kept = (np.isnan(x) == np.isnan(x_tilde)).mean(0)
    np.testing.assert_array_equal(kept[[0, 1, 3, 4]], 1.0)
    assert kept[2] == pytest.approx(0.4**2 + 0.6**2, abs=0.06)
    present = ~np.isnan(x)
    assert (x != x_tilde)[present & ~np.isnan(x_tilde)].all()
    assert check_swap((x, x_tilde), random_state=0).verdict == "pass"


def test_levels_that_are_nearly_those_of_another_feature_are_kept() -> None:
    """As where one code stands for "not asked" in several columns; other levels are drawn anew."""
    rng = np.random.default_rng(0)
    asked = rng.random(1500) < 0.6
    answers = rng.choice(["yes", "no", "perhaps"], size=(1500, 3)).astype(object)
    noise = rng.random((1500, 3)) < 0.01
    answers[~asked[:, None] ^ noise] = "not asked"
    table = pd.DataFrame(answers, columns=list("abc")).assign(x=rng.normal(size=1500))
    knockoffs = GaussianKnockoffs(random_state=0).fit(table).sample(table)
    for name in "abc":
        np.testing.assert_array_equal(knockoffs[name] == "not asked", table[name] == "not asked")
        assert (knockoffs[name] != table[name])[table[name] != "not asked"].mean() > 0.5
    assert check_swap((table, knockoffs), random_state=0).verdict == "pass"


def test_many_levels_under_two_names_are_copied() -> None:
    """A hospital's name and its number: knockoffs of one that leave the other behind would be
    invalid.
    """
    frame, _ = base(1000, 0)
    hospital = np.random.default_rng(0).integers(0, 100, 1000)
    frame["name"] = [f"h{number}" for number in hospital]
    frame["number"] = pd.Categorical(np.random.default_rng(1).permutation(100)[hospital])
    with pytest.warns(
        KnockoffWarning, match="column 'name', column 'number': determined by other columns"
    ):
        model = GaussianKnockoffs(random_state=0).fit(frame)
    drawn = model.sample(frame)
    pd.testing.assert_frame_equal(drawn[["name", "number"]], frame[["name", "number"]])
    assert (drawn["sex"] != frame["sex"]).any()


@pytest.mark.filterwarnings(DETERMINED)
def test_of_more_relations_than_classes_can_keep_some_are_kept() -> None:
    """Ten flags and a profile that says them all would need 1,024 classes."""
    frame, _ = base(2000, 0)
    flags = np.random.default_rng(0).integers(0, 2, (2000, 10))
    profile = flags @ 2 ** np.arange(10)
    frame["profile"] = [f"p{number}" for number in profile]
    names = [f"flag {k}" for k in range(10)]
    frame[names] = flags
    (found,) = contexts(frame)
    assert len(found.features) == 6
    assert len(found.keys) == 2**6 <= MOST_CLASSES
    drawn = GaussianKnockoffs(random_state=0).fit(frame).sample(frame)
    said = drawn["profile"].str[1:].astype(int).to_numpy()[:, None] >> np.arange(10) & 1
    kept = found.features - frame.columns.get_loc("flag 0")
    np.testing.assert_array_equal(said[:, kept], drawn[names].to_numpy()[:, kept])
