"""From a table and a target to discoveries: generator, statistic and filter as one scikit-learn selector."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from knockoffs.arrays import Array, Flags, Indices
from knockoffs.cautions import caution, collect_cautions
from knockoffs.checks import check_choice, check_count, check_fraction
from knockoffs.column_output import TypedSelectorMixin
from knockoffs.completion import complete_table
from knockoffs.diagnostics.certificate import Certificate
from knockoffs.diagnostics.dry_run import LEVELS, simulate
from knockoffs.diagnostics.source import table_for
from knockoffs.diagnostics.twin import certify, certify_pair
from knockoffs.filtering import combine_draws, draw_threshold, explain_selection
from knockoffs.generator_choice import checked_knockoffs, generator_for, is_ready, row_handling, with_defaults
from knockoffs.generators.hierarchical import constant_within, draw_knockoffs, fit_generator
from knockoffs.hazards import warn_of_hazards
from knockoffs.pictured import pictured
from knockoffs.progress import progress_bars
from knockoffs.randomness import RandomState, random_generator
from knockoffs.row_labels import require_same_order
from knockoffs.row_structure import RowStructure, row_structure
from knockoffs.schema import Kind
from knockoffs.selection import UNBOUNDED, RowHandling, Selection, versions_in_use
from knockoffs.statistics import HoldoutStatistic
from knockoffs.statistics.base import Task, TaskChoice, read_target
from knockoffs.tables import Table, read_table

DRY_RUNS = 10  # simulated responses of each kind for a calibration


class KnockoffSelector(TypedSelectorMixin, BaseEstimator):
    """Select the features that tell something of y beyond all the others, with few false ones among them.

    With exact knockoffs, a statistic that is `exact` and `offset=1`, the expected share of false discoveries
    is at most `fdr`; learned knockoffs and held-out statistics come close to that. y never reaches the generator.

    Parameters
    ----------
    generator : a generator (`DDLK()` by default), or any callable `f(X)` that returns knockoffs of its rows. A
        generator that is fitted already is used as it is; `clone` (as in cross-validation) forgets the fit
        unless you wrap it in `sklearn.frozen.FrozenEstimator`.
    statistic : a statistic (`HoldoutStatistic()` by default), or any callable `g(X, X_tilde, y)` that returns w.
    fdr : the share q of false discoveries that you accept on average.
    offset : 1 bounds the false discovery rate; 0 a slightly weaker rate, and selects more.
    n_draws : int, default=1
        Knockoff draws to combine by e-values (`combine_draws`). The answer then depends less on the seed, at the
        price of power, and only features that stand out in almost every draw are selected, at least 1 / fdr of
        them or none. Keep 1 unless you expect some 2 / fdr relevant features or more; then 20 is a good number.
    certify : check the knockoffs (`check_swap`): a twin of the generator is fitted on 70 % of the rows and checked
        on the others; a generator that is fitted already, or a function, on all rows. Needs 100 rows.
    calibrate : lower the level of the filter until, on responses simulated on X, the share of false discoveries
        (plus its standard error) is at most `fdr`. A heuristic, for the filter of a single draw; it takes the
        statistic's time twenty times over. It is careful: with exact knockoffs, which need no lower level, it
        lowers the level in 56, 81 and 75 % of the runs at .1, .2 and .3, since few simulated responses make a
        large standard error.
    task : `"regression"`, `"classification"`, or `"auto"`: by the type of y.
    kinds : kinds of columns that are known better than `infer_schema` finds out, by name or number, such as
        `{"ward": "nominal"}` for categories that are coded by numbers.
    missing : `"value"`: a missing cell is a value of its own, and hypotheses are about columns as observed.
        `"complete"`: cells are filled in first (`complete_table`), and hypotheses are about complete columns.
    random_state : seed for generator and statistic, where they have none of their own.
    n_jobs : cores for the statistic, where it has no setting of its own.
    progress : show progress bars.

    Attributes
    ----------
    selection_ : the frozen result; `.to_frame()` gives it as a table.
    certificate_ : what the check of the knockoffs found, or None; a verdict other than "pass" is warned of.
    dry_run_ : w of simulated responses, where `calibrate=True`.
    w_, threshold_ : the statistic of each feature, and the threshold (`nan` with several draws).
    generator_, statistic_ : as fitted and used.
    schema_ : what each column of X holds.
    pictured_ : some rows of the features with the largest w and of their knockoffs, for the report.

    Examples
    --------
    >>> import numpy as np
    >>> from knockoffs import GaussianKnockoffs, KnockoffSelector, LassoStatistic
    >>> X = np.random.default_rng(0).normal(size=(500, 30))
    >>> y = X[:, :10].sum(axis=1) + np.random.default_rng(1).normal(size=500)
    >>> selector = KnockoffSelector(GaussianKnockoffs(), LassoStatistic(), fdr=0.1, random_state=0).fit(X, y)
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
        kinds: Mapping[Any, Kind] | None = None,
        missing: Literal["value", "complete"] = "value",
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
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress

    def fit(self, X: Any, y: Any, *, groups: Any = None) -> Self:
        """Draw knockoffs of X, compare features with them in how well they explain y, and filter.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            The features.
        y : array-like of shape (n_rows,)
            The target.
        groups : array-like of shape (n_rows,), default=None
            One label per row, such as the patient; rows with the same label belong together, groups are
            independent of each other. Knockoffs are then drawn for whole groups (`HierarchicalKnockoffs` of the
            generator), the rows of a group stay on one side of every split, and where y is a quantity what the
            rows of a group have in common beyond the features is filtered out.
        """
        cautions: list[str] = []
        try:
            with collect_cautions() as cautions:
                self._fit(X, y, groups)
                said = dict.fromkeys(cautions)
                said.pop(self.selection_.explanation, None)
                self.selection_ = replace(self.selection_, cautions=tuple(said))
        finally:  # shown also where the fit ends in an error
            for message in dict.fromkeys(cautions):
                caution(message)
        return self

    def _fit(self, X: Any, y: Any, groups: Any) -> None:
        for name in ("selection_", "certificate_", "dry_run_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        self._check_settings()
        if y is None:
            raise ValueError("KnockoffSelector requires y to be passed, but the target y is None.")
        table = read_table(X, who="KnockoffSelector", kinds=self.kinds)
        if 0 in table.shape:
            raise ValueError(
                f"KnockoffSelector: X has {table.shape[0]} sample(s) and {table.shape[1]} feature(s) "
                f"(shape={table.shape}) while a minimum of 1 is required."
            )
        validate_data(self, X, skip_check_array=True, reset=True)
        require_same_order(X, y=y, groups=groups, who="KnockoffSelector")
        task, target = read_target(y, self.task, rows=len(table), who="KnockoffSelector")
        self._check_groups(groups)
        self.schema_ = table.schema
        seed, (for_fit, for_draws, for_statistic, for_checks) = self._seeds()
        rows = row_structure(table.codes, groups, who="KnockoffSelector")
        if self.missing == "complete":
            table = _completed(table, rows, seed)
            X = table.to_native()
        generator = generator_for(self.generator, rows, given_groups=groups is not None)
        handling = row_handling(generator, rows)
        warn_of_hazards(table, target, fdr=self.fdr, offset=self.offset, n_draws=self.n_draws)
        distinct = rows.distinct_rows(table)
        self.generator_ = self._fitted(generator, distinct, rows.groups, for_fit)
        self.statistic_ = self._prepared_statistic(task, for_statistic)
        drawn = self._draw(rows.distinct_rows(X), distinct, rows.groups, for_draws)
        self.certificate_ = self._certificate(generator, distinct, drawn[0], rows, for_checks)
        knockoffs = [rows.all_rows(own) for own in drawn]
        ws = self._statistics(X, table, knockoffs, y, rows.kept_together)
        shares = np.bincount(target.astype(int)) / len(target) if task == "classification" else ()
        level = self._calibrated_level(table, rows, task, tuple(shares), for_checks)
        self._warn_of_certificate()
        self.pictured_ = pictured(table, knockoffs[0], ws.mean(0))
        self._conclude(ws, level, table.names, task, len(table), seed, rows.group_count, handling)

    @property
    def w_(self) -> Array:
        return self.selection_.w

    @property
    def threshold_(self) -> float:
        return self.selection_.threshold

    def _get_support_mask(self) -> Flags:
        check_is_fitted(self, "selection_")
        return self.selection_.selected

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        return tags

    def _check_settings(self) -> None:
        check_fraction("fdr", self.fdr)
        check_choice("offset", self.offset, (0, 1))
        check_count("n_draws", self.n_draws)
        check_choice("missing", self.missing, ("value", "complete"))
        for name, value, method in (
            ("generator", self.generator, "sample"),
            ("statistic", self.statistic, "compute"),
        ):
            if isinstance(value, type) or not (value is None or hasattr(value, method) or callable(value)):
                raise ValueError(
                    f"{name}={value!r} is not valid: pass an object with a {method!r} method, a function, or None."
                )

    def _check_groups(self, groups: Any) -> None:
        if groups is not None and not (self.statistic is None or hasattr(self.statistic, "compute")):
            raise ValueError("groups were passed, but the statistic is a function, which cannot take them.")

    def _seeds(self) -> tuple[int, list[int]]:
        """The seed to report, and those for the fit, the draws and the statistic."""
        seed = self.random_state
        if not isinstance(seed, (int, np.integer)):
            seed = int(random_generator(seed).integers(2**31))
        return int(seed), [int(s) for s in random_generator(seed, stream=4).integers(2**31, size=4)]

    def _fitted(self, generator: Any, table: Table, groups: Indices | None, seed: int) -> Any:
        if is_ready(generator):
            return generator
        prepared = with_defaults(clone(generator), random_state=seed, progress=self.progress)
        return fit_generator(prepared, table_for(generator, table), groups)

    def _certificate(
        self, generator: Any, table: Table, knockoffs: Table, rows: RowStructure, seed: int
    ) -> Certificate | None:
        if not self.certify:
            return None
        if not hasattr(generator, "sample"):
            return certify_pair(table, knockoffs, groups=rows.groups, seed=seed, progress=self.progress)
        ready = is_ready(generator)
        if not ready:
            generator = with_defaults(clone(generator), random_state=seed)
        return certify(generator, table, ready=ready, groups=rows.groups, seed=seed, progress=self.progress)

    def _calibrated_level(
        self, table: Table, rows: RowStructure, task: Task, class_shares: Sequence[float], seed: int
    ) -> float:
        """The level of the filter: `fdr`, or what a dry run of generator and statistic on these rows asks for."""
        if not self.calibrate:
            return float(self.fdr)
        distinct = table_for(self.generator_, rows.distinct_rows(table))

        def draw(seed: int) -> Any:
            return rows.all_rows(draw_knockoffs(self.generator_, distinct, groups=rows.groups, random_state=seed))

        with progress_bars(self.progress) as report:
            self.dry_run_ = dry_run = simulate(
                table,
                draw,
                self.statistic_,
                replicates=DRY_RUNS,
                offset=self.offset,
                rng=random_generator(seed),
                task=task,
                groups=rows.kept_together,
                class_shares=class_shares,
                n_jobs=self.n_jobs,
                report=report,
            )
        level = dry_run.calibrated_level(self.fdr)
        if self.certificate_ is not None:
            levels = sorted({*LEVELS, float(self.fdr), level})
            self.certificate_ = self.certificate_.with_dry_run(dry_run.rates(levels))
        return level

    def _warn_of_certificate(self) -> None:
        found = self.certificate_
        if found is not None and found.verdict != "pass":
            advice = list(found.advice)
            if found.validity != "pass" and not self.calibrate:
                advice.append("calibrate=True (--calibrate at the command line) lowers the level by a dry run.")
            said = " ".join([*found.reasons, *advice])
            caution(f"Check of the knockoffs: {found.verdict}. {said}")

    def _prepared_statistic(self, task: str, seed: int) -> Any:
        statistic = HoldoutStatistic() if self.statistic is None else self.statistic
        if not hasattr(statistic, "compute"):
            return statistic
        return with_defaults(clone(statistic), random_state=seed, n_jobs=self.n_jobs, task=task)

    def _draw(self, X: Any, table: Table, groups: Indices | None, seed: int) -> list[Table]:
        """Knockoffs of the rows of X, which `table` holds too; a function is given X itself."""
        if hasattr(self.generator_, "sample"):
            own = getattr(self.generator_, "random_state", None)
            drawn = draw_knockoffs(
                self.generator_,
                table_for(self.generator_, table),
                groups=groups,
                n_draws=self.n_draws,
                random_state=seed if own is None else None,
            )
        else:
            drawn = [self.generator_(X) for _ in range(self.n_draws)]
        return [checked_knockoffs(X, table, own) for own in drawn]

    def _statistics(self, X: Any, table: Table, knockoffs: list[Table], y: Any, groups: Any) -> Array:
        with progress_bars(self.progress) as report:
            if hasattr(self.statistic_, "compute"):
                ws = [
                    self.statistic_.compute(
                        table, own, y, groups=groups, report=report and _of_draw(report, k, len(knockoffs))
                    )
                    for k, own in enumerate(knockoffs)
                ]
            else:
                ws = [np.asarray(self.statistic_(X, own.to_native(), y), dtype=np.float64) for own in knockoffs]
        for w in ws:
            if w.shape != (self.n_features_in_,) or not np.isfinite(w).all():
                raise ValueError(
                    f"statistic returned w of shape {w.shape}: return one finite number for each of the "
                    f"{self.n_features_in_} features."
                )
        return np.stack(ws)

    def _conclude(
        self,
        ws: Array,
        working_level: float,
        names: list[str] | None,
        task: str,
        rows: int,
        seed: int,
        groups: int | None,
        row_handling: RowHandling,
    ) -> None:
        selected, evalues = combine_draws(list(ws), working_level, offset=self.offset)
        thresholds = np.array([draw_threshold(w, working_level, len(ws), offset=self.offset) for w in ws])
        explanation = explain_selection(ws, selected, evalues, working_level, offset=self.offset)
        if self.calibrate:
            explanation += f" This level was calibrated for fdr={self.fdr:g} by a dry run, a heuristic."
        self.selection_ = Selection(
            names=tuple(f"x{j}" for j in range(self.n_features_in_)) if names is None else tuple(map(str, names)),
            selected=selected,
            w=ws.mean(0),
            evalues=evalues,
            frequency=(ws >= thresholds[:, None]).mean(0),
            draws=ws,
            thresholds=thresholds,
            fdr=float(self.fdr),
            level=working_level,
            offset=int(self.offset),
            task=getattr(self.statistic_, "task", task),
            rows=rows,
            generator=_described(self.generator_),
            statistic=_described(self.statistic_),
            groups=groups,
            row_handling=row_handling,
            exact=False if row_handling == UNBOUNDED else getattr(self.statistic_, "exact", None),
            seed=seed,
            explanation=explanation,
            versions=versions_in_use(),
        )
        if not selected.any():
            caution(explanation)


def _completed(table: Table, rows: RowStructure, seed: int) -> Table:
    """The table with missing cells filled in; equal rows stay equal, and what a group shares stays shared."""
    distinct = rows.distinct_rows(table)
    codes = complete_table(distinct, random_state=seed).codes
    if rows.groups is not None:  # one draw per group for what is missing in all of its rows
        common = constant_within(np.nan_to_num(distinct.codes, nan=np.inf), rows.groups)
        first = np.unique(rows.groups, return_index=True)[1]
        codes = np.where(common, codes[first][rows.groups], codes)
    return table.with_codes(rows.all_rows(codes))


def _of_draw(report: Any, draw: int, draws: int) -> Any:
    if draws == 1:
        return report
    return lambda stage, done, total, loss: report(f"{stage}, draw {draw + 1} of {draws}", done, total, loss)


def _described(part: Any) -> str:
    """How the part would be written in code, on one line."""
    if isinstance(part, BaseEstimator):
        return " ".join(repr(part).split())
    return getattr(part, "__qualname__", type(part).__qualname__)
