"""From a table and a target to p-values: a randomisation test as one scikit-learn selector."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Self, get_args

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from knockoffs.check.hazards import warn_of_hazards
from knockoffs.generators.any_generator import is_ready
from knockoffs.pvalues.advice import advice_after_tests, upper_levels
from knockoffs.pvalues.choices import (
    check_density,
    check_statistic,
    explain_tests,
    residual_model,
    warn_of_copies,
    warn_of_resolution,
)
from knockoffs.pvalues.copies import table_columns
from knockoffs.pvalues.corrections import Correction, adjust_pvalues
from knockoffs.pvalues.heavy_tails import warn_of_heavy_tails
from knockoffs.pvalues.held_out import forward_parts
from knockoffs.pvalues.one_feature import Study, Tested, Variant
from knockoffs.pvalues.redraws import Redraws, fitted_density, redraws_of
from knockoffs.pvalues.residuals import Curves, Residuals
from knockoffs.pvalues.result import RandomizationResult
from knockoffs.runtime.arrays import Array, Flags, Indices
from knockoffs.runtime.cautions import caution, collect_cautions
from knockoffs.runtime.checks import check_choice, check_count, check_fraction, check_jobs
from knockoffs.runtime.notebook import described
from knockoffs.runtime.parallel import in_parallel, suited_threads, workers
from knockoffs.runtime.progress import progress_bars, report_stage
from knockoffs.runtime.randomness import RandomState, random_generator, reported_seed
from knockoffs.runtime.versions import versions_in_use
from knockoffs.statistics.models import make_model
from knockoffs.table.column_output import TypedSelectorMixin
from knockoffs.table.row_structure import row_structure
from knockoffs.table.table import Table, conditioned_columns
from knockoffs.targets.base import Target
from knockoffs.targets.inputs import read_inputs
from knockoffs.targets.registry import TaskChoice

WHO = "RandomizationTest"


class RandomizationTest(TypedSelectorMixin, BaseEstimator):
    """Test, feature by feature, whether it tells something of y beyond all the others.

    A conditional randomisation test: redraw the feature given all the others, and count how often a
    redrawn one explains y as well as the feature itself does. With the true distribution of the
    features p-values are at least uniform under the null hypothesis, for any number of rows and any
    dependence of y on the features; a learned distribution comes close to that. Unlike knockoffs,
    which need some 1 / level discoveries to report any, a single feature can be a discovery.

    Parameters
    ----------
    density : JointDensity, DDLK, callable or None, default=None
        The distribution of the features; `JointDensity()` by default. What is fitted already is
        used as it is (a `DDLK` shares its density, so that one fit serves knockoffs and tests). A
        function `f(codes, feature, n_draws, rng)` returns draws `[n_draws, rows]` of a feature (by
        its number) given the other columns of `codes`, for distributions that are known.
    statistic : str, estimator or None, default=None
        How y is modelled. "distilled": a model of y given the other features, beside a ridge
        regression that is always there: `"boosting"` (trees, the default), `"linear"` (nothing), or
        a scikit-learn regressor. "holdout": a model of y given all features, `"linear+boosting"`
        (the default), `"boosting"`, `"lightgbm"` or a scikit-learn estimator.
    variant : {"distilled", "holdout"}, default="distilled"
        "distilled" asks whether the feature explains what all the others leave of y: as a line, as
        a curve, or times another feature. It uses all rows and takes the least time. "holdout" asks
        whether redraws spoil the predictions of a model for rows that it has not seen.
    resamples : int, default=5000
        Most redraws per feature. The smallest possible p-value is 1 / (1 + resamples). With
        "holdout" both hold for each of the four parts of the rows that are predicted, whose
        p-values are combined into one.
    exceedances : int, default=50
        Redraws that reach the feature's own statistic after which its test ends: clear nulls take
        few redraws, and p-values stay valid (Besag and Clifford, 1991).
    correction : {"bh", "by", "holm", "none"}, default="bh"
        What is bounded by `level`: the false discovery rate if p-values are independent or depend
        positively on each other (Benjamini-Hochberg), the same however they depend
        (Benjamini-Yekutieli, which finds less), the probability of any false discovery (Holm), or
        that of each test.
    level : float, default=0.1
        Bound on what `correction` says.
    condition_on : sequence of column names or numbers, default=None
        Columns that are not tested, such as age, sex, batch or site: they count among "all the
        others" of every test, in the density and in the models of y.
    task : {"auto", "regression", "classification", "count", "survival"}, default="auto"
        What y is; "auto" decides by the type of y.
    kinds : dict of column names (or numbers) to kinds, default=None
        Kinds of columns that are known better than `infer_schema` finds out.
    random_state : int, numpy Generator or None, default=None
        Seed; the same seed gives the same result on the same machine, whatever `n_jobs`.
    n_jobs : int, default=None
        Number of cores for the tests of the features, by joblib.
    progress : bool, default=False
        Show progress bars.

    Attributes
    ----------
    result_ : RandomizationResult
        The frozen result; `.to_frame()` gives it as a table.
    pvalues_, support_ : arrays
        p-value per feature (nan for columns that were conditioned on), and which features are
        discoveries.
    effects_ : array
        By how much y changes per standard deviation of a feature while all others stay as they are:
        in standard deviations of a quantity, as a share of the rows for the second of two classes,
        and for survival times in standard deviations of events beyond those to expect (above 0:
        earlier). nan for features without an order and for more than two classes. A quantity with
        heavy tails is taken by its normal scores.
    density_ : object
        The density as fitted and used.
    schema_ : Schema
        What each column of X holds.

    Examples
    --------
    >>> import numpy as np
    >>> from knockoffs import JointDensity, RandomizationTest
    >>> X = np.random.default_rng(1).normal(size=(300, 5))
    >>> y = X[:, 0] + X[:, 1] ** 2 + np.random.default_rng(2).normal(size=300)
    >>> RandomizationTest(JointDensity(epochs=1), random_state=0).fit(X, y).get_support()
    array([ True,  True, False, False, False])
    """

    def __init__(
        self,
        density: Any = None,
        statistic: Any = None,
        *,
        variant: Variant = "distilled",
        resamples: int = 5000,
        exceedances: int = 50,
        correction: Correction = "bh",
        level: float = 0.1,
        condition_on: Sequence[Any] | None = None,
        task: TaskChoice = "auto",
        kinds: Mapping[Any, str] | None = None,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        progress: bool = False,
    ) -> None:
        self.density = density
        self.statistic = statistic
        self.variant = variant
        self.resamples = resamples
        self.exceedances = exceedances
        self.correction = correction
        self.level = level
        self.condition_on = condition_on
        self.task = task
        self.kinds = kinds
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress

    def fit(self, X: Any, y: Any) -> Self:
        """Test each feature of X.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            The features; rows are independent of each other.
        y : array-like of shape (n_rows,), data frame of two columns, or structured array
            The target. Survival times, right-censored, are two columns or fields: the time, and
            whether the event was seen (booleans, or 1 and 0); tested are their martingale
            residuals.
        """
        cautions: list[str] = []
        try:
            with suited_threads(X), collect_cautions() as cautions:
                self._fit(X, y)
                self.result_ = replace(self.result_, cautions=tuple(dict.fromkeys(cautions)))
        finally:  # shown also where the fit ends in an error
            for message in dict.fromkeys(cautions):
                caution(message)
        return self

    def _fit(self, X: Any, y: Any) -> None:
        self.__dict__.pop("result_", None)  # of an earlier fit
        self._check_settings()
        table, target = read_inputs(self, X, y, task=self.task, kinds=self.kinds, who=WHO)
        self.schema_ = table.schema
        conditioned = conditioned_columns(self.condition_on, table)
        warn_of_hazards(table, target)
        if self.density is None or not is_ready(self.density):
            warn_of_heavy_tails(table)
        seed = reported_seed(self.random_state)
        for_density, for_latents, for_models, for_tests = map(
            int, random_generator(seed, stream=5).integers(2**31, size=4)
        )
        rows = row_structure(table.codes, None, who=WHO)
        distinct = rows.distinct_rows(table)
        self.density_ = fitted_density(
            self.density, distinct, seed=for_density, progress=self.progress
        )
        redraws = redraws_of(self.density_, distinct, for_latents)
        tested = np.flatnonzero(~conditioned & redraws.free)
        # several would only share a GPU
        with workers(1 if redraws.device.type == "cuda" else self.n_jobs):
            study = self._study(
                table, target, rows.place, redraws, tested, random_generator(for_models)
            )
            found = self._tests(study, tested, for_tests)
        self._conclude(table, target, tested, conditioned, found, seed)

    def _study(
        self,
        table: Table,
        target: Target,
        place: Indices | None,
        redraws: Redraws,
        tested: Indices,
        rng: np.random.Generator,
    ) -> Study:
        columns = table_columns(table.schema, table.codes)
        curves = Curves.of(columns)
        learner = residual_model(self.statistic) if self.variant == "distilled" else None
        seen = target.in_standard_units()
        parts = None
        if self.variant == "holdout":
            estimator = "linear+boosting" if self.statistic is None else self.statistic
            make = partial(make_model, estimator, of_classes=target.categorical)
            parts = forward_parts(columns.x, seen.values, place, make, rng)
        return Study(
            codes=table.codes,
            schema=table.schema,
            columns=columns,
            curves=curves,
            target=seen,
            place=place,
            redraws=redraws,
            residuals=Residuals(columns, curves, target.residual_outputs(), tested, learner, rng),
            parts=parts,
            resamples=self.resamples,
            exceedances=self.exceedances,
        )

    def _tests(self, study: Study, tested: Indices, seed: int) -> list[Tested]:
        work = in_parallel(Study.test, ((int(j), seed) for j in tested), shared=(study,))
        found: list[Tested] = []
        with progress_bars(self.progress):
            for done, one in enumerate(work, start=1):
                found.append(one)
                report_stage("tests", done, len(tested))
        return found

    @property
    def pvalues_(self) -> Array:
        return self.result_.pvalues

    @property
    def support_(self) -> Flags:
        return self.result_.selected

    @property
    def effects_(self) -> Array:
        return self.result_.effects

    def _get_support_mask(self) -> Flags:
        check_is_fitted(self, "result_")
        return self.result_.selected

    def _check_settings(self) -> None:
        check_choice("variant", self.variant, get_args(Variant))
        check_count("resamples", self.resamples)
        check_jobs("n_jobs", self.n_jobs)
        check_count("exceedances", self.exceedances)
        check_choice("correction", self.correction, get_args(Correction))
        check_fraction("level", self.level)
        check_density(self.density)
        check_statistic(self.variant, self.statistic)

    def _conclude(
        self,
        table: Table,
        target: Target,
        tested: Indices,
        conditioned: Flags,
        found: list[Tested],
        seed: int,
    ) -> None:
        features = table.shape[1]
        copies = ~conditioned
        copies[tested] = False
        pvalues = np.where(conditioned, np.nan, 1.0)
        effects, errors, strengths, effective = np.full((4, features), np.nan)
        resamples = np.zeros(features, dtype=np.intp)
        strengths[copies] = 0.0
        for j, one in zip(tested, found, strict=True):
            pvalues[j], resamples[j] = one.found
            effects[j], errors[j], strengths[j] = one.effect
            effective[j] = one.effective
        adjusted = pvalues.copy()
        adjusted[~conditioned] = adjust_pvalues(pvalues[~conditioned], self.correction)
        selected = ~conditioned & (adjusted <= self.level)
        warn_of_copies(table, copies)
        if self.variant != "holdout":  # whose parts have a p-value each
            warn_of_resolution(
                self.resamples, self.level, self.correction, int((~conditioned).sum())
            )
        asked = np.flatnonzero(~conditioned)
        names = [table.schema.names[j] for j in asked]
        self.result_ = RandomizationResult(
            names=table.schema.names,
            pvalues=pvalues,
            adjusted=adjusted,
            selected=selected,
            effects=effects,
            errors=errors,
            strengths=strengths,
            resamples=resamples,
            copies=copies,
            conditioned=conditioned,
            effective=effective,
            level=float(self.level),
            correction=self.correction,
            variant=self.variant,
            most_resamples=int(self.resamples),
            task=target.task,
            target=target.name,
            target_kind=target.described,
            effect_meaning=target.meaning_of_effects(),
            towards=() if np.isnan(effects).all() else upper_levels(table.schema),
            rows=len(table),
            density=described(self.density_),
            statistic="default" if self.statistic is None else described(self.statistic),
            seed=seed,
            explanation=explain_tests(selected, pvalues[~conditioned], self.level, self.correction),
            versions=versions_in_use(),
            advice=advice_after_tests(
                selected,
                pvalues[asked],
                adjusted[asked],
                names,
                len(table),
                self.level,
                self.correction,
            ),
        )
