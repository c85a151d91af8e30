"""From a table and a target to discoveries: generator,
statistic and filter as one scikit-learn selector.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from knockoffs.check.certificate import Certificate
from knockoffs.check.dry_run import DryRun
from knockoffs.check.feature_tests import find_twins
from knockoffs.check.hazards import warn_of_few_features, warn_of_hazards
from knockoffs.check.source import safe_threads
from knockoffs.effects import describe_effects
from knockoffs.generators.any_generator import is_ready, with_defaults
from knockoffs.generators.completion import complete_rows, warn_of_stand_ins
from knockoffs.generators.registry import GENERATORS
from knockoffs.runtime.arrays import Array, Flags
from knockoffs.runtime.cautions import caution, collect_cautions
from knockoffs.runtime.checks import check_choice, check_count, check_fraction
from knockoffs.runtime.parallel import suited_threads, workers
from knockoffs.runtime.progress import Job, job, progress_bars
from knockoffs.runtime.randomness import RandomState, random_generator, reported_seed
from knockoffs.runtime.registry import by_name
from knockoffs.schema.schema import FeatureGroups
from knockoffs.selection.conclusion import (
    conclude,
    warn_of_certificate,
    warn_of_kept,
    warn_of_nothing,
)
from knockoffs.selection.generator_choice import (
    drawn_knockoffs,
    fitted_generator,
    generator_for,
    require_swaps_of,
    row_handling,
)
from knockoffs.selection.kept_rows import pictured
from knockoffs.selection.parts import (
    CHOOSE,
    DESCRIBE,
    LEARN,
    check_parts,
    selection_phases,
)
from knockoffs.selection.result import RowHandling
from knockoffs.selection.selection_check import check_selection, compare, may_check
from knockoffs.selection.statistic_choice import choose_statistic
from knockoffs.statistics.any_statistic import is_auto, is_statistic
from knockoffs.statistics.draws import Draws, compute_draws
from knockoffs.statistics.registry import STATISTICS
from knockoffs.table.column_output import TypedSelectorMixin
from knockoffs.table.row_structure import RowStructure, row_structure
from knockoffs.table.table import Table, conditioned_columns
from knockoffs.targets.base import Target
from knockoffs.targets.inputs import read_inputs, task_of
from knockoffs.targets.registry import TaskChoice

WHO = "KnockoffSelector"


class KnockoffSelector(TypedSelectorMixin, BaseEstimator):
    """Select features that tell something about y beyond all the others, few of them false.

    With exact knockoffs, a statistic that is `exact` and `offset=1`, the expected share of false
    discoveries is at most `fdr`; learned knockoffs and held-out statistics come close to that. y
    never reaches the generator.

    Parameters
    ----------
    generator : generator, str or callable, default=None
        A generator (`DDLK()` by default), its name at the command line (such as "gaussian"), or any
        function `f(X)` that returns knockoffs of its rows. A generator that is fitted already is
        used as it is; `clone` (as in cross-validation) forgets the fit unless you wrap it in
        `sklearn.frozen.FrozenEstimator`.
    statistic : statistic, str or callable, default=None
        A statistic (`HoldoutStatistic()` by default), its name at the command line (such as
        "lasso"), or any function `g(X, X_tilde, y)` that returns w. "auto" chooses between
        `HoldoutStatistic()` and `LassoStatistic()`: among those that are expected to hold the level
        the one that finds more, in simulated responses. y has no part in the choice, and coins hide
        from it which of a feature and its knockoff is which, so that with one draw it costs no
        validity.
    fdr : float, default=0.1
        The share q of false discoveries that you accept on average.
    offset : {0, 1}, default=1
        1 bounds the false discovery rate; 0 selects more, and bounds next to nothing with fewer
        than 1 / fdr discoveries.
    n_draws : int, default=1
        Knockoff draws to combine by e-values (`combine_draws`). The answer then depends less on the
        seed, at the price of power, and only features that stand out in almost every draw are
        selected, at least 1 / fdr of them or none. Keep 1 unless you expect some 2 / fdr relevant
        features or more; then 20 is a good number.
    certify : bool, default=True
        Whether to check the knockoffs (`check_swap`): how many false discoveries to expect, by
        responses that are simulated on the rows, and where the knockoffs differ from exact ones.
        Needs 100 rows.
    calibrate : bool, default=False
        Whether to lower the level of the filter until the share of false discoveries that is
        expected by simulated responses is at most `fdr`. A heuristic, for the filter of a single
        draw: true responses may be harder than simulated ones.
    task : {"auto", "regression", "classification", "count", "survival"}, default="auto"
        What y is; "auto" decides by the type of y.
    kinds : dict of column names (or numbers) to kinds, default=None
        Kinds of columns that are known better than `infer_schema` finds out, such as `{"ward":
        "nominal"}` for categories that are coded by numbers.
    missing : {"value", "complete"}, default="value"
        "value": a missing cell is a value of its own. "complete": cells are filled in first
        (`complete_table`); a feature may then be found for what the missing cells of another would
        have told.
    condition_on : sequence of column names or numbers, default=None
        Columns that are never tested, such as age, sex, batch or site: hypotheses are about the
        other features given these, the generator and the statistic take them into account, and they
        are never selected.
    feature_groups : dict of group names to lists of column names (or numbers), default=None
        Columns that get one answer together, such as the variants of a gene: hypotheses are about
        the whole group given all other features, a group has one w and is one feature in
        `selection_`, and `transform` keeps all columns of a selected group. Columns in no group are
        features of their own.
    keep_at_least : int, default=0
        Features that `transform` keeps at least, so that a pipeline goes on where nothing is
        selected: those with the largest w, in `selection_.kept`. They are no discoveries: nothing
        bounds the share of false ones.
    random_state : int, numpy Generator or None, default=None
        Seed for generator and statistic, where they have none of their own.
    n_jobs : int, default=None
        Number of cores for the check and the statistic (its draws, and its folds unless it has its
        own `n_jobs`). With one, the check still runs in a thread beside the statistic, unless
        `OMP_NUM_THREADS=1` forbids it.
    progress : bool, default=False
        Show progress bars.

    Attributes
    ----------
    selection_ : Selection
        The frozen result; `.to_frame()` gives it as a table, `.effects` says what each discovery
        does.
    certificate_, expectation_ : Certificate and DryRun, or None
        What the check of the knockoffs found (a verdict other than "pass" is warned of); w of
        simulated responses.
    w_, threshold_ : array of float, float
        The statistic of each feature (one per group), and the threshold on it. With several draws w
        has one row per draw, the threshold is nan, and methods of `selection_` give other
        guarantees (`fdp_bounds`, `fdp_bound`, `pfer_select`).
    generator_, statistic_, statistic_reason_ : objects, str or None
        The parts as fitted and used, and why the statistic was chosen, where it was.
    schema_, pictured_ : Schema, Pictured
        What each column of X holds; some rows of the most important features and their knockoffs,
        for the report.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(500, 30))
    >>> y = X[:, :10].sum(axis=1) + np.random.default_rng(1).normal(size=500)
    >>> selector = KnockoffSelector("gaussian", "lasso", fdr=0.1, random_state=0).fit(X, y)
    >>> bool(selector.get_support()[:10].all())  # the ten relevant ones are found
    True
    """

    def __init__(
        self,
        generator: Any = None,
        statistic: Any = None,
        *,
        fdr: float = 0.1,
        offset: int = 1,
        n_draws: int = 1,
        certify: bool = True,
        calibrate: bool = False,
        task: TaskChoice = "auto",
        kinds: Mapping[Any, str] | None = None,
        missing: Literal["value", "complete"] = "value",
        condition_on: Sequence[Any] | None = None,
        feature_groups: FeatureGroups = None,
        keep_at_least: int = 0,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        progress: bool = False,
    ) -> None:
        self.generator = generator
        self.statistic = statistic
        self.fdr = fdr
        self.offset = offset
        self.n_draws = n_draws
        self.certify = certify
        self.calibrate = calibrate
        self.task = task
        self.kinds = kinds
        self.missing = missing
        self.condition_on = condition_on
        self.feature_groups = feature_groups
        self.keep_at_least = keep_at_least
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress

    def fit(self, X: Any, y: Any, *, groups: Any = None) -> Self:
        """Draw knockoffs of X, compare features with them in how well they explain y, and filter.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            The features.
        y : array-like of shape (n_rows,), data frame of two columns, or structured array
            The target. Survival times, right-censored, are two columns or fields: the time, and
            whether the event was seen (booleans, or 1 and 0).
        groups : array-like of shape (n_rows,), default=None
            One label per row, such as the patient, where rows belong together. Knockoffs are then
            drawn for whole groups (`HierarchicalKnockoffs` of the generator), the rows of a group
            stay on one side of every split, and what they have in common beyond the features is
            filtered out of a quantity y.
        """
        self.__dict__.pop("selection_", None)  # of an earlier fit
        self.expectation_: DryRun | None = None
        self.certificate_: Certificate | None = None
        cautions: list[str] = []  # shown also where the fit ends in an error
        try:
            with collect_cautions() as cautions:
                self._check_settings(groups)
                with workers(self.n_jobs), suited_threads(X):
                    self._fit(X, y, groups)
                self.selection_ = replace(self.selection_, cautions=tuple(dict.fromkeys(cautions)))
        finally:
            for message in dict.fromkeys(cautions):
                caution(message)
        warn_of_nothing(self.selection_)
        return self

    def _fit(self, X: Any, y: Any, groups: Any) -> None:
        self._level = float(self.fdr)
        task = task_of(self.task, self.statistic)
        table, target = read_inputs(self, X, y, task=task, kinds=self.kinds, groups=groups, who=WHO)
        self._conditioned = conditioned_columns(self.condition_on, table)
        table = table.grouped(
            self.feature_groups, who=WHO, conditioned=self._conditioned, target=target.name
        )
        self.schema_ = table.schema
        seed = reported_seed(self.random_state)
        for_fit, for_draws, for_statistic, for_checks = map(
            int, random_generator(seed, stream=4).integers(2**31, size=4)
        )
        rows = row_structure(table.codes, groups, who=WHO)
        # before cells are filled in, which would hide what is wrong with others
        warn_of_hazards(table, target)
        gaps = None
        if self.missing == "complete":
            gaps = np.isnan(table.codes)
            table = complete_rows(table, rows, seed)
            X = table.to_native()
        generator = generator_for(
            by_name(self.generator, GENERATORS), rows, given_groups=groups is not None
        )
        handling = row_handling(generator, rows)
        require_swaps_of(generator, table.units)
        warn_of_few_features(
            table.units, self._conditioned, fdr=self.fdr, offset=self.offset, n_draws=self.n_draws
        )
        distinct = rows.distinct_rows(table)
        checks = may_check(self.certify, self.calibrate, distinct, rows.groups)
        statistic = by_name(self.statistic, STATISTICS)
        phases = selection_phases(generator, statistic, checks=checks, n_draws=self.n_draws)
        with job(self.progress, phases) as work:
            work.begin(LEARN)
            self.generator_ = fitted_generator(
                generator, distinct, rows.groups, seed=for_fit, progress=self.progress
            )
            drawn = drawn_knockoffs(
                self.generator_,
                rows.distinct_rows(X),
                distinct,
                groups=rows.groups,
                conditioned=self._conditioned,
                n_draws=self.n_draws,
                was_fitted=is_ready(generator),
                seed=for_draws,
            )
            self.statistic_ = self._ready_statistic(
                statistic, distinct, drawn[0], rows, target, for_statistic, work
            )
            check = partial(
                check_selection,
                self.generator_,
                distinct,
                drawn[0],
                groups=rows.groups,
                conditioned=self._conditioned,
                statistic=self.statistic_,
                fdr=self.fdr,
                offset=self.offset,
                target=target,
                seed=for_checks,
                gaps=None if gaps is None or not gaps.any() else rows.distinct_rows(gaps),
                calibrated=self.calibrate,
            )
            knockoffs = [rows.all_rows(own) for own in drawn]
            compute = partial(
                compute_draws,
                self.statistic_,
                X,
                table,
                knockoffs,
                y,
                target,
                groups=rows.kept_together,
            )
            with safe_threads(self.generator_), progress_bars(self.progress):
                found, checked = compare(compute, check if checks else None, work)
            if checked is not None:
                self.expectation_, self._level, certificate = checked
                self.certificate_ = certificate if self.certify else None
            work.begin(DESCRIBE)
            self._conclude(found, table, knockoffs[0], target, rows, handling, seed)
            warn_of_stand_ins(table, gaps, self.selection_.selected)

    def _conclude(
        self,
        found: Draws,
        table: Table,
        knockoffs: Table,
        target: Target,
        rows: RowStructure,
        row_handling: RowHandling,
        seed: int,
    ) -> None:
        """Filter, describe what the selected features do, and warn."""
        warn_of_certificate(self.certificate_)
        self.pictured_ = pictured(table, knockoffs, found.ws.mean(0))
        selection = conclude(
            found.ws,
            table=table,
            conditioned=self._conditioned,
            target=target,
            missing=self.missing,
            kinds=self.kinds,
            level=self._level,
            fdr=self.fdr,
            offset=self.offset,
            calibrated=self.calibrate,
            keep_at_least=self.keep_at_least,
            generator=self.generator_,
            statistic=self.statistic_,
            expectation=self.expectation_,
            twins=find_twins(table),
            groups=rows.group_count,
            row_handling=row_handling,
            seed=seed,
        )
        effects = describe_effects(
            table,
            knockoffs,
            target,
            selection.worth_describing(),
            names=selection.names,
            selected=selection.selected.tolist(),
            draws=found.ws,
            tested=len(selection.names) - len(selection.conditioned),
            others=found.others,
            groups=rows.kept_together,
        )
        self.selection_ = replace(selection, effects=effects)
        warn_of_kept(selection, self.keep_at_least)

    @property
    def w_(self) -> Array:
        return self.selection_.w

    @property
    def threshold_(self) -> float:
        return self.selection_.threshold

    def _get_support_mask(self) -> Flags:
        check_is_fitted(self, "selection_")
        features = self.selection_.selected | np.isin(self.selection_.names, self.selection_.kept)
        return features[self.schema_.units.of]

    def _check_settings(self, groups: Any) -> None:
        check_fraction("fdr", self.fdr)
        check_choice("offset", self.offset, (0, 1))
        check_count("n_draws", self.n_draws)
        check_count("keep_at_least", self.keep_at_least, least=0)
        check_choice("missing", self.missing, ("value", "complete"))
        check_parts(self.generator, self.statistic)
        if groups is not None and callable(self.statistic) and not is_statistic(self.statistic):
            raise ValueError(
                "groups were passed, but the statistic is a function, which cannot take them."
            )

    def _ready_statistic(
        self,
        statistic: Any,
        table: Table,
        knockoffs: Table,
        rows: RowStructure,
        target: Target,
        seed: int,
        work: Job,
    ) -> Any:
        self.statistic_reason_ = None
        if is_auto(statistic):
            work.begin(CHOOSE)
            with progress_bars(self.progress):
                statistic, self.statistic_reason_ = choose_statistic(
                    self.generator_,
                    table,
                    knockoffs,
                    conditioned=self._conditioned,
                    fdr=self.fdr,
                    offset=self.offset,
                    target=target,
                    groups=rows.groups,
                    seed=seed,
                )
        if not is_statistic(statistic):
            return statistic
        return with_defaults(
            clone(statistic), random_state=seed, n_jobs=self.n_jobs, task=target.task
        )
