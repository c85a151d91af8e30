"""Studies: tables of the right size, targets that fit them; real ones where the data is at hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import expon, gamma, kstest, spearmanr

from benchmarks.experiments import studies
from benchmarks.experiments.catalogue import EXPERIMENTS
from benchmarks.experiments.experiment import Study, Variant
from knockoffs.datasets import liang_response, load_hiv, load_icu
from knockoffs.datasets.real import position
from knockoffs.table.table import read_table
from tests.real_data import DATA, folder_with


def data(folder: str) -> str:
    return str(folder_with(folder))


def require_sound(study: Study) -> None:
    rows, features = study.X.shape
    assert not np.isinf(read_table(study.X, who="Test").codes).any()
    assert study.X.columns.is_unique
    assert study.unit is None or len(study.unit) == features
    assert study.groups is None or len(study.groups) == rows
    for target in study.responses.values():
        assert len(target.y) == rows
        assert np.isfinite(target.y).all()
        assert target.relevant is None or len(target.relevant) == features


# synthetic


@pytest.mark.parametrize("name", ["gaussian", "mixture"])
def test_amplitudes_of_the_paper_and_where_methods_differ(name: str) -> None:
    study = EXPERIMENTS[name].variants[0].make(0, None)
    require_sound(study)
    assert study.X.shape == (2000, 100)
    assert list(study.responses) == ["100/√N", "10/√N"]
    strong, weak = study.responses.values()
    # so they are compared on equal terms
    np.testing.assert_array_equal(strong.relevant, weak.relevant)
    x = study.X.to_numpy()
    for target, amplitude in ((strong, 100), (weak, 10)):
        coefficients = np.linalg.lstsq(x - x.mean(0), target.y - target.y.mean())[0][
            target.relevant
        ]
        np.testing.assert_allclose(np.abs(coefficients), amplitude / np.sqrt(2000), atol=0.2)


def test_lambda_varies_the_correlation() -> None:
    for variant in EXPERIMENTS["lambda"].variants:
        rho = float(variant.name.removeprefix("rho-"))
        x = variant.make(1, None).X.to_numpy()
        neighbours = np.mean([np.corrcoef(x[:, j], x[:, j + 1])[0, 1] for j in range(99)])
        assert neighbours == pytest.approx(rho, abs=0.03)


@pytest.mark.parametrize(
    "variant", EXPERIMENTS["copula"].variants, ids=lambda variant: variant.name
)
def test_copulas_have_their_margins(variant: Variant) -> None:
    family, margin, rows = variant.name.split("-")
    study = variant.make(2, None)
    require_sound(study)
    assert study.X.shape == (int(rows), 100)
    law = expon() if margin == "exponential" else gamma(3.0)
    pvalues = [kstest(study.X.iloc[:, j], law.cdf).pvalue for j in range(0, 100, 10)]
    assert min(pvalues) > 1e-4
    assert (study.oracle is not None) == (family == "clayton")


def test_a_margin_changes_neither_the_copula_nor_the_response() -> None:
    one, other = (
        studies.copula(4, None, family="clayton", margin=m, rows=200)
        for m in ("exponential", "gamma")
    )
    np.testing.assert_array_equal(one.X.rank(), other.X.rank())
    np.testing.assert_array_equal(one.responses["Liang"].y, other.responses["Liang"].y)
    exact, mapped = one.oracle(9), other.oracle(9)
    np.testing.assert_array_equal(pd.DataFrame(exact).rank(), pd.DataFrame(mapped).rank())
    np.testing.assert_allclose(gamma.isf(expon.sf(exact), 3.0), mapped)


def test_exact_knockoffs_of_copulas_exchange_with_their_columns() -> None:
    """The rank correlation of x_i with x̃_j is that with x_j, in either margin."""
    study = studies.copula(0, None, family="clayton", margin="gamma", rows=2000)
    X, X_tilde = study.X.to_numpy()[:, :6], study.oracle(1)[:, :6]
    joint = spearmanr(np.hstack([X, X_tilde])).statistic
    off = ~np.eye(6, dtype=bool)
    np.testing.assert_allclose(joint[:6, :6][off], joint[:6, 6:][off], atol=0.09)
    np.testing.assert_allclose(joint[:6, :6][off], joint[6:, 6:][off], atol=0.09)


# real


@pytest.mark.parametrize("variant", EXPERIMENTS["gene"].variants, ids=lambda variant: variant.name)
def test_genes(variant: Variant) -> None:
    folder = data("gdsc_expression")
    study = variant.make(3, folder)
    require_sound(study)
    assert study.X.shape == (975, 100)
    np.testing.assert_allclose(study.X.mean(), 0, atol=1e-3)
    np.testing.assert_allclose(study.X.std(ddof=0), 1, atol=2e-3)
    (target,) = study.responses.values()
    assert target.relevant.sum() == 20
    np.testing.assert_array_equal(target.y, liang_response(study.X.to_numpy(), random_state=3).y)
    pd.testing.assert_frame_equal(variant.make(3, folder).X, study.X)
    assert not variant.make(4, folder).X.columns.equals(study.X.columns)
    correlation = np.abs(np.corrcoef(study.X.to_numpy().T))
    assert np.median(np.sort(correlation)[:, -2]) > 0.5  # a walk over correlated genes


@pytest.mark.parametrize(("name", "features"), [("clinical", 34), ("clinical-filled", 36)])
def test_stays(name: str, features: int) -> None:
    (variant,) = EXPERIMENTS[name].variants
    study = variant.make(0, data("physionet2012"))
    require_sound(study)
    assert study.X.shape == (12000, features)
    assert study.groups is None
    assert "minute" not in study.X
    (target,) = study.responses.values()
    assert target.relevant is None
    assert target.y.mean() == pytest.approx(0.142, abs=0.001)
    assert set(target.y) == {0, 1}
    for outcome in (
        "SAPS_I",
        "SOFA",
        "Survival",
        "Length_of_stay",
        "In_hospital_death",
        "RecordID",
    ):
        assert outcome not in study.X
    missing = "fill" if name == "clinical-filled" else "keep"
    expected = load_icu(data("physionet2012"), rows="stays", missing=missing, random_state=0)
    pd.testing.assert_frame_equal(study.X, expected.X)
    assert study.X.isna().to_numpy().any() == (missing == "keep")


def test_snapshots() -> None:
    (variant,) = EXPERIMENTS["clinical-snapshots"].variants
    study = variant.make(0, data("physionet2012"))
    require_sound(study)
    assert study.X.shape == (38878, 35)
    assert "minute" in study.X
    assert len(set(study.groups)) == 11787
    deaths = pd.Series(study.responses["death"].y).groupby(study.groups).nunique()
    assert (deaths == 1).all()  # a stay has one end


@pytest.mark.parametrize("variant", EXPERIMENTS["hiv"].variants, ids=lambda variant: variant.name)
def test_mutations(variant: Variant) -> None:
    study = variant.make(0, data("hiv"))
    require_sound(study)
    drug_class, drug = variant.name.split("-")
    (response,) = study.responses
    assert response == drug
    assert set(np.unique(study.X)) == {0, 1}
    assert study.X.sum().min() >= 3
    assert list(study.unit) == [f"P{position(name)}" for name in study.X.columns]
    relevant = pd.Series(study.responses[drug].relevant)
    assert (relevant.groupby(list(study.unit)).nunique() == 1).all()
    assert (
        0 < relevant.groupby(list(study.unit)).first().sum() < len(set(study.unit)) < len(relevant)
    )
    np.testing.assert_array_equal(
        relevant, load_hiv(DATA, drug_class=drug_class, drug=drug).treatment_selected
    )
