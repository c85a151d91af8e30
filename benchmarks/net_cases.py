"""What the net computes: small configurations through public names alone, as one JSON document.

`benchmarks.net` runs this file with the package of two trees. Everything is reached as `ko.<name>`,
so that a name which one of the trees lacks costs one configuration and not the run.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd

import knockoffs as ko
from knockoffs import datasets

ROWS, COLUMNS = 240, 10
Values = dict[str, Any]  # what was computed: numbers, words, and lists and dicts of them


def plain() -> pd.DataFrame:
    return pd.DataFrame(
        datasets.AutoregressiveGaussian(COLUMNS, rho=0.5).sample(ROWS, 3)
    ).add_prefix("x")


def mixed() -> pd.DataFrame:
    """Text, a yes/no column, counts, and a tenth of the cells missing in two columns."""
    X = plain()
    X["x1"] = np.select([X["x1"] > 0.5, X["x1"] > -0.5], ["high", "middle"], "low")
    X["x3"] = X["x3"] > 0
    X["x5"] = np.floor(3 * np.exp(X["x5"] / 2)).astype(int)
    missing = np.random.default_rng(5).random((ROWS, 2)) < 0.1
    X[["x0", "x8"]] = X[["x0", "x8"]].mask(missing)
    return X


def patients() -> np.ndarray:
    return np.repeat(np.arange(ROWS // 4), 4)


def visits() -> pd.DataFrame:
    """Four visits of each patient, who has a part of every column for all of them."""
    return (plain().iloc[patients()].reset_index(drop=True) + plain()) / np.sqrt(2)


def number(X: pd.DataFrame | None = None) -> np.ndarray:
    """A response that the first half of the columns decides, each less than the one before."""
    z = (plain() if X is None else X).to_numpy()
    effects = np.linspace(3, 1, COLUMNS // 2)
    return z[:, : COLUMNS // 2] @ effects + np.random.default_rng(4).normal(size=len(z))


def two_classes() -> np.ndarray:
    return number() > np.median(number())


def three_classes() -> np.ndarray:
    return np.array(["low", "middle", "high"])[
        np.digitize(number(), np.quantile(number(), [1 / 3, 2 / 3]))
    ]


def times() -> pd.DataFrame:
    """Survival times of which a fifth are censored."""
    late = np.exp(-number() / number().std()) + 0.1
    end = np.quantile(late, 0.8)
    return pd.DataFrame({"time": np.minimum(late, end), "seen": late < end})


def small_ddlk(seed: int | None = None) -> Any:
    """Without a seed of its own it takes one from a selector."""
    return ko.DDLK(hidden=(8,), components=2, joint_epochs=2, knockoff_epochs=1, random_state=seed)


def small_joint() -> Any:
    return ko.JointDensity(hidden=(8,), components=2, epochs=2, random_state=0)


GENERATORS: dict[str, Callable[[], Any]] = {
    "DDLK": lambda: small_ddlk(0),
    "Gaussian": lambda: ko.GaussianKnockoffs(random_state=0),
    "mixture": lambda: ko.GaussianMixtureKnockoffs(clusters=2, random_state=0),
    "deep": lambda: ko.DeepKnockoffs(hidden=(4,), epochs=3, random_state=0),
    "GAN": lambda: ko.KnockoffGAN(hidden=4, epochs=10, random_state=0),
    "auto-encoder": lambda: ko.AutoEncodingKnockoffs(
        latent=2, hidden=(4,), epochs=3, random_state=0
    ),
    "HMM": lambda: ko.HMMKnockoffs(states=2, iterations=3, random_state=0),
}


def selection(
    X: Any, y: Any, generator: Any, statistic: Any = "lasso", groups: Any = None, **settings: Any
) -> Values:
    """What a selector finds, in its own words too."""
    selector = ko.KnockoffSelector(generator, statistic, fdr=0.2, random_state=0, **settings)
    found = selector.fit(X, y, groups=groups)
    certificate = found.certificate_
    return {
        "w": found.w_,
        "selection": found.selection_.to_dict(),
        "certificate": None if certificate is None else certificate.to_dict(),
    }


def bounds(**settings: Any) -> Values:
    """Other guarantees of a selection."""
    selector = ko.KnockoffSelector("gaussian", "lasso", certify=False, random_state=0, **settings)
    result = selector.fit(plain(), number()).selection_
    return {
        "bounds": [result.fdp_bounds(), result.fdp_bound(result.w > 0)]
        if result.n_draws == 1
        else [],
        "pfer": result.pfer_select(2),
    }


def generation(make: Callable[[], Any], X: pd.DataFrame, **rows: Any) -> Values:
    """Knockoffs of a generator, and of the same generator once it has been saved and loaded."""
    model = make().fit(X, **rows)
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model")
        loaded = ko.load_generator(Path(folder) / "model")
    return {
        "draw": cells(model.sample(X, **rows)),
        "loaded": cells(loaded.sample(X, random_state=1, **rows)),
    }


def draws_of(make: Callable[[], Any]) -> Values:
    return {
        f"{kind}: {what}": value
        for kind, X in TABLES.items()
        for what, value in generation(make, X()).items()
    }


TABLES = {"numbers": plain, "mixed": mixed}


def density() -> Values:
    """What the tests need of a distribution: densities,
    rows and draws of one feature given the others.
    """
    model, X = small_joint().fit(plain()), plain()
    return {"densities": model.score_samples(X), "rows": model.sample(5, random_state=0)}


def tests(X: Any, y: Any, **settings: Any) -> Values:
    test = ko.RandomizationTest(small_joint(), resamples=200, random_state=0, **settings).fit(X, y)
    return {"p-values": test.pvalues_, "effects": test.effects_, "result": test.result_.to_dict()}


def statistics() -> Values:
    """w of every statistic for every target."""
    X, X_tilde = plain(), ko.GaussianKnockoffs(random_state=0).fit(plain()).sample(plain())
    made = (
        ko.HoldoutStatistic(random_state=0),
        ko.HoldoutStatistic(mixture=0, folds=2, random_state=0),
        ko.MidpointStatistic(random_state=0),
        ko.LassoStatistic(random_state=0),
        ko.SumStatistic(random_state=0),
    )
    y = {
        "number": number(),
        "two classes": two_classes(),
        "three classes": three_classes(),
        "times": times(),
    }
    w = {f"w, {name}": [statistic.compute(X, X_tilde, y[name]) for statistic in made] for name in y}
    forest = ko.ImportanceStatistic(random_state=0)
    return w | {"w of importances": forest.compute(X, X_tilde, number())}


def checks() -> Values:
    """Certificates of a pair of tables, of a fitted generator, and of one with groups of rows."""
    X, Z = mixed(), visits()
    pair = (plain(), plain().sample(frac=1, random_state=0, ignore_index=True))
    in_groups = ko.HierarchicalKnockoffs(ko.GaussianKnockoffs(), random_state=0).fit(
        Z, groups=patients()
    )
    lasso = partial(ko.check_swap, statistic=ko.LassoStatistic(random_state=0), random_state=0)
    return {
        "pair": lasso(pair, dry_run=True, replicates=2).to_dict(),
        "generator": lasso(small_ddlk(0).fit(X), X, task="classification").to_dict(),
        "groups": lasso(in_groups, Z, groups=patients()).to_dict(),
    }


def filters() -> Values:
    """What follows from w: selections, e-values and bounds."""
    ws = np.random.default_rng(0).normal(size=(3, 40)) + 2.5 * (np.arange(40) < 15)
    w = ws[0]
    evalues = ko.knockoff_evalues(w, 0.2)
    return {
        "selected": [
            ko.knockoff_select(w, q, offset=offset) for q in (0.1, 0.2) for offset in (0, 1)
        ],
        "thresholds": [ko.knockoff_threshold(w, 0.2), ko.smallest_levels(w), evalues],
        "draws": [*ko.combine_draws(list(ws), 0.2), ko.select_by_evalues(evalues, 0.2)],
        "bounds": [
            ko.fdp_bounds(w),
            ko.fdp_bound(w, w > 1),
            ko.pfer_select(w, 2),
            ko.kfwer_select(w, 5),
        ],
    }


def data() -> Values:
    """Simulated tables and responses."""
    hospital = datasets.make_patients(60, random_state=0)
    x = {
        "clayton": datasets.ClaytonCopula(4).sample(20, 0),
        "joe": datasets.JoeCopula(4).sample(20, 0),
        "mixture": datasets.AutoregressiveMixture(4).sample(20, 0),
    }
    return {"patients": [cells(hospital.X), hospital.y, hospital.relevant]} | x


def cells(table: Any) -> Values:
    """The cells of a table by column, words as words."""
    frame = pd.DataFrame(table)
    return {str(name): _numbers_or_words(frame[name]) for name in frame}


def _numbers_or_words(column: pd.Series) -> Any:
    return (
        column.to_numpy()
        if pd.api.types.is_numeric_dtype(column)
        else [str(cell) for cell in column]
    )


def _repeated() -> Values:
    """Rows that occur twice."""
    X = pd.concat([plain(), plain()[:60]], ignore_index=True)
    return selection(X, number(X), "gaussian")


CASES: dict[str, Callable[[], Values]] = {
    "mixed table with gaps": lambda: selection(mixed(), number(), small_ddlk(), None),
    "gaps completed": lambda: selection(
        mixed(), number(), "gaussian", missing="complete", kinds={"x5": "ordinal"}, keep_at_least=3
    ),
    "groups of rows": lambda: selection(visits(), number(visits()), "gaussian", groups=patients()),
    "repeated rows": _repeated,
    "feature groups": lambda: selection(
        plain(),
        number(),
        small_ddlk(),
        feature_groups={"first": ["x0", "x1"], "last": ["x7", "x8", "x9"]},
    ),
    "survival": lambda: selection(plain(), times(), "gaussian", "midpoint"),
    "two classes": lambda: selection(mixed(), two_classes(), "gaussian", "sum"),
    "three classes": lambda: selection(plain(), three_classes(), "gaussian-mixture", offset=0),
    "conditioned": lambda: selection(mixed(), number(), small_ddlk(), condition_on=["x1", "x9"]),
    "several draws": lambda: selection(plain(), number(), "gaussian", n_draws=3),
    "calibrated, auto": lambda: selection(plain(), number(), "gaussian", "auto", calibrate=True),
    "function as generator": lambda: selection(
        plain(), number(), lambda X: X.sample(frac=1, random_state=0, ignore_index=True)
    ),
    "bounds": bounds,
    "bounds of several draws": partial(bounds, n_draws=3),
    "test distilled": lambda: tests(mixed(), number()),
    "test holdout": lambda: tests(mixed(), two_classes(), variant="holdout"),
    "test of times": lambda: tests(plain(), times(), correction="holm", condition_on=["x9"]),
    "test in two processes": lambda: tests(plain(), three_classes(), n_jobs=2),
    "check_swap": checks,
    "statistics": statistics,
    **{f"generator {name}": partial(draws_of, make) for name, make in GENERATORS.items()},
    "generator hierarchical": lambda: generation(
        lambda: ko.HierarchicalKnockoffs(ko.GaussianKnockoffs(), random_state=0),
        visits(),
        groups=patients(),
    ),
    "joint density": density,
    "completed table": lambda: cells(ko.complete_table(mixed(), random_state=0)),
    "schema": lambda: {"schema": [str(column) for column in ko.infer_schema(mixed())]},
    "filter": filters,
    "data": data,
}


def outcome(case: Callable[[], Values]) -> Values:
    """What a configuration computes, which public name its tree lacks, or how it fails."""
    begun = time.process_time()
    try:
        return {"values": case(), "seconds": time.process_time() - begun}
    except AttributeError as error:
        module = (
            error.obj.__name__ if isinstance(error.obj, ModuleType) else type(error.obj).__module__
        )
        if module.split(".")[0] == "knockoffs":
            return {"absent": error.name}
        return {"failed": repr(error)}
    except Exception as error:
        return {"failed": repr(error)}


def main(wanted: list[str]) -> None:
    warnings.simplefilter("ignore")  # they are among the cautions of a selection
    json.dump(
        {name: outcome(CASES[name]) for name in wanted},
        sys.stdout,
        default=lambda array: array.tolist(),
    )


if __name__ == "__main__":
    main(sys.argv[1:] or list(CASES))
