"""The density of a table as an estimator: it scores, samples, and is what DDLK learns first."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau, ks_2samp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from knockoffs import DDLK, JointDensity, KnockoffWarning
from knockoffs.datasets import AutoregressiveGaussian, AutoregressiveMixture, ClaytonCopula

LAWS = {
    "gaussian": AutoregressiveGaussian(features=3, rho=0.6, mean=-2.0),
    "clayton": ClaytonCopula(features=3),
    "mixture": AutoregressiveMixture(
        features=3, weights=(0.4, 0.6), means=(0.0, 8.0), rhos=(0.6, 0.2)
    ),
}


@pytest.fixture(scope="module", params=LAWS)
def law(
    request: pytest.FixtureRequest,
) -> AutoregressiveGaussian | AutoregressiveMixture | ClaytonCopula:
    return LAWS[request.param]


@pytest.fixture(scope="module")
def model(law: ClaytonCopula) -> JointDensity:
    return JointDensity(hidden=(16,), epochs=10, random_state=0).fit(
        law.sample(800, random_state=0)
    )


def test_samples_have_the_margins_of_the_data(law: ClaytonCopula, model: JointDensity) -> None:
    drawn, fresh = model.sample(4000), law.sample(4000, random_state=1)
    for ours, theirs in zip(drawn.T, fresh.T, strict=True):
        # 4000 against 4000 rows alone give 0.036 at the level 0.01; the fit's 800 rows the rest
        assert ks_2samp(ours, theirs).statistic < 0.036 + 1.63 / np.sqrt(800)


def test_samples_have_the_dependence_of_the_data(law: ClaytonCopula, model: JointDensity) -> None:
    drawn, fresh = model.sample(4000), law.sample(4000, random_state=1)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        ours, theirs = (kendalltau(x[:, i], x[:, j]).statistic for x in (drawn, fresh))
        assert ours == pytest.approx(theirs, abs=0.08)


def test_the_score_is_close_to_and_not_above_the_truth(
    law: ClaytonCopula, model: JointDensity
) -> None:
    """The mean difference to the true log-density is a Kullback-Leibler divergence."""
    fresh = law.sample(4000, random_state=1)
    difference = law.log_prob(fresh) - model.score_samples(fresh)
    error = difference.std() / np.sqrt(len(difference))
    assert -4 * error < difference.mean() < 0.15


def test_the_density_scores_its_own_samples_as_the_data(
    law: ClaytonCopula, model: JointDensity
) -> None:
    drawn, fresh = (
        model.score_samples(model.sample(4000)),
        model.score_samples(law.sample(4000, random_state=1)),
    )
    assert drawn.mean() == pytest.approx(fresh.mean(), abs=0.2)


def test_score_is_the_mean_of_score_samples(law: ClaytonCopula, model: JointDensity) -> None:
    x = law.sample(50, random_state=2)
    assert (
        model.score(x)
        == model.score(x, y="ignored")
        == pytest.approx(model.score_samples(x).mean())
    )


def test_a_rows_score_does_not_depend_on_the_other_rows(
    law: ClaytonCopula, model: JointDensity
) -> None:
    x = law.sample(50, random_state=2)
    np.testing.assert_allclose(
        model.score_samples(x[:7]), model.score_samples(x)[:7], rtol=1e-4, atol=1e-4
    )


def test_samples_are_reproducible_and_new_rows_do_not_change_the_first(model: JointDensity) -> None:
    np.testing.assert_array_equal(model.sample(20), model.sample(20))
    np.testing.assert_array_equal(model.sample(20, random_state=0), model.sample(20))
    np.testing.assert_allclose(model.sample(20)[:5], model.sample(5), rtol=1e-4, atol=1e-4)
    assert (model.sample(20, random_state=1) != model.sample(20)).all()
    assert len(np.unique(model.sample(500)[:, 0])) > 490


def test_it_is_the_first_stage_of_ddlk(tmp_path: Path) -> None:
    x = LAWS["clayton"].sample(200, random_state=0)
    ddlk = DDLK(hidden=(8,), joint_epochs=2, knockoff_epochs=0, random_state=0).fit(x)
    settings = {
        name: value
        for name, value in ddlk.get_params().items()
        if name in JointDensity().get_params()
    }
    settings |= {"learning_rate": ddlk.joint_learning_rate, "epochs": ddlk.joint_epochs}
    joint = JointDensity(**settings).fit(x)
    np.testing.assert_array_equal(joint.score_samples(x), ddlk.joint_log_prob(x))
    ddlk.save(tmp_path / "model")
    for model in (ddlk, DDLK.load(tmp_path / "model")):
        assert [phase.stage for phase in model.joint_density().history_] == [
            p.stage for p in joint.history_
        ]


def test_frames_with_special_columns() -> None:
    x = LAWS["gaussian"].sample(200, random_state=0)
    table = pd.DataFrame(
        {
            "a": x[:, 0],
            "k": 4.0,
            "n": np.rint(2 * x[:, 1]).astype(int),
            "b": x[:, 2],
            "twin": x[:, 0],
        }
    )
    with pytest.warns(KnockoffWarning) as caught:
        model = JointDensity(hidden=(8,), epochs=1, random_state=0).fit(table)
    assert {warning.filename for warning in caught} == {__file__}
    drawn = model.sample(300)
    assert drawn.shape == (300, 5)
    assert (drawn[:, 1] == 4).all()
    assert set(drawn[:, 2]) <= set(table["n"])
    np.testing.assert_array_equal(drawn[:, 0], drawn[:, 4])
    assert np.isfinite(model.score(table))


def test_the_same_seed_gives_the_same_model_and_clones_work() -> None:
    x = LAWS["gaussian"].sample(100, random_state=0)
    model = JointDensity(hidden=(8,), epochs=1, random_state=3).fit(x)
    again = clone(model).fit(x)
    assert again.get_params() == model.get_params()
    np.testing.assert_array_equal(again.score_samples(x), model.score_samples(x))
    np.testing.assert_array_equal(again.sample(10), model.sample(10))


@pytest.mark.parametrize("call", ["score_samples", "score", "sample"])
def test_nothing_works_before_the_fit(call: str) -> None:
    argument = 3 if call == "sample" else LAWS["gaussian"].sample(5, random_state=0)
    with pytest.raises(NotFittedError):
        getattr(JointDensity(), call)(argument)


def test_history_tells_of_every_epoch(model: JointDensity) -> None:
    assert {history.stage.split()[0] for history in model.history_} == {"q_joint"}
    for history in model.history_:
        assert 2 <= len(history.train) == len(history.held_out) <= 11
        assert history.best_epoch == int(np.argmin(history.held_out))
