"""Models of a table's columns: how features are seen by a model, and warnings of special ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from knockoffs.kinds.dependence import (
    Dependence,
    equal_where_present,
    first_recoded,
    linear_dependence,
)
from knockoffs.kinds.encoding import TableEncoding
from knockoffs.kinds.fit_encoding import (
    exact_encoding,
    first_alike,
    fit_encoding,
    spread_encoding,
    with_units,
)
from knockoffs.runtime.arrays import Array, Flags, Indices
from knockoffs.runtime.cautions import caution
from knockoffs.runtime.fingerprints import row_fingerprints, share_of_known, smallest_fingerprints
from knockoffs.runtime.randomness import RandomState
from knockoffs.schema.schema import Column, FeatureGroups, Schema, Units
from knockoffs.schema.words import column_name, counted, listing
from knockoffs.table.problems import require_squares
from knockoffs.table.read_cells import of_one_type
from knockoffs.table.table import Table, read_table

MIN_ROWS = 10
FEW_ROWS = 50
MIN_COLUMNS = 2
FEW_VALUES = 10
DEPENDENT = 1e-4


class TableModel(BaseEstimator):
    """A model of a table's columns, which it sees as internal columns of numbers (`encoding.py`).

    * Constant columns and duplicates of others have none: their knockoff is a copy.
    * Discrete columns and missing cells are modelled by latent normal variables, of which only an
      interval is seen; drawn ones give values seen in the fit. Where a model is given in the units
      of the columns discrete values are spread evenly around themselves instead, which weakens the
      dependence of columns with few values; a warning says so.
    """

    random_state: RandomState
    _fitted = False
    # in warnings: what is drawn of a feature, and what for
    _draw_word, _use_word = "knockoff", "selected"
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]
    schema_: Schema
    encoding_: TableEncoding
    fingerprints_: NDArray[np.uint64]
    _names: list[str] | None

    @property
    def names_of_fit(self) -> NDArray[np.object_] | None:
        """The names of the columns of the fit; None where they are no text."""
        return vars(self).get("feature_names_in_")

    def __sklearn_is_fitted__(self) -> bool:
        return self._fitted

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _read_for_fit(
        self, X: Any, kinds: Mapping[Any, str] | None, feature_groups: FeatureGroups
    ) -> Table:
        """Read the table of a fit, and look for what cannot be modelled or should be said."""
        who = type(self).__name__
        table = read_table(X, who=who, kinds=kinds).grouped(feature_groups, who=who)
        self._require_enough(table)
        if table.shape[1] == 0:
            self._require_columns(np.zeros(0, dtype=bool))
        validate_data(self, table.like, skip_check_array=True, reset=True)
        self._names = table.names
        self.fingerprints_ = smallest_fingerprints(table.codes)
        return table

    def _describe(self, table: Table, rng: np.random.Generator) -> None:
        """Choose how the model sees each column."""
        self.schema_ = schema = table.schema
        core, equal = table.codes, first_alike(table.codes)
        alike = equal
        if not (self.has_given_model() or self._handles_discrete):
            alike = first_recoded(core, np.array([column.levels is not None for column in schema]))
        self._warn_of_special_columns(schema, equal)
        different = schema.varies & (equal == np.arange(len(equal)))
        varied = different & (alike == np.arange(len(alike)))
        self._require_columns(different)
        self._require_sane_range(core, varied)
        if self.has_given_model() and not self._handles_discrete:
            self._require_numbers(schema)
        if self._draws_latents_apart and not self._handles_discrete:
            self._warn_of_few_values(schema, varied)
        if self._handles_discrete:
            self.encoding_ = with_units(exact_encoding(core, schema, alike), schema)
        elif self.has_given_model():
            self.encoding_ = with_units(spread_encoding(core, schema, alike), schema)
        else:
            self.encoding_ = with_units(fit_encoding(core, schema, alike, rng), schema)
            self._keep_combinations(core, varied)
            self._keep_filled_in(core, varied)
            self._require_free_features()
            self._warn_of_determined(different, alike[alike != equal])
        self._warn_of_dependence(core, varied & ~self.encoding_.copied)

    def _read(self, X: Any) -> Table:
        """Read a table that must have the columns of the fit; levels are numbered as in the fit."""
        check_is_fitted(self)
        categories = [j for j, column in enumerate(self.schema_) if column.levels is not None]
        table = read_table(X, who=type(self).__name__, categories=categories)
        validate_data(self, table.like, skip_check_array=True, reset=False)
        names = table.names
        # names that are no strings
        if names is not None and self._names is not None and names != self._names:
            raise ValueError(
                f"{type(self).__name__}: the columns {listing([repr(n) for n in names])} are not "
                f"those of the "
                f"fit, in their order: {listing([repr(n) for n in self._names])}. Select them in "
                f"that order."
            )
        self._require_same_types(table)
        return table.with_levels([column.levels for column in self.schema_])

    def _require_same_types(self, table: Table) -> None:
        differ = [
            j
            for j, (own, column) in enumerate(zip(table.levels, self.schema_, strict=True))
            if not of_one_type(own, table.codes[:, j], column.levels, _values_seen(column))
        ]
        if differ:
            which = listing([column_name(table.names, j) for j in differ])
            raise ValueError(
                f"{type(self).__name__}: {which} held text or categories in the fit and numbers "
                f"here, or the "
                "other way round. Convert to the type of the fit."
            )

    def _warn_of_unseen(self, table: Table) -> None:
        """Warn of cells with a level, or a gap, that the fit has not seen."""
        unseen = ~self.encoding_.knows(table.codes) & ~self.encoding_.copied
        if not unseen.any():
            return
        counts = unseen.sum(0)
        which = listing(
            [
                f"{column_name(self._names, j)} ({counts[j]}: "
                f"{_cells_in_words(table, j, unseen[:, j])})"
                for j in np.flatnonzero(counts)
            ]
        )
        caution(
            f"{which}: cells with a value that the fit has not seen. The {self._draw_word} of "
            f"such a cell "
            "is the cell itself, so it tells nothing about the feature. Fit on rows that have "
            "such values."
        )

    def _middles(self, X: Any) -> Array:
        """The internal columns of rows, with latents in the middle of their intervals."""
        codes = self._read(X).codes
        return self.encoding_.middles(codes)

    def share_of_fit(self, X: Any) -> float:
        """Estimate the share of the rows of X that the model was fitted on;
        nan where all rows repeat others.
        """
        check_is_fitted(self)
        return share_of_known(row_fingerprints(self._read(X).codes), self.fingerprints_)

    def require_swaps_of(self, units: Units) -> None:
        """Raise an error where a group of features of the fit is not swapped as a whole:
        knockoffs are its own.
        """
        fitted = self.schema_.units
        # another error is raised for other columns
        if fitted.single or len(fitted.of) != len(units.of):
            return
        split = [
            name
            for k, name in enumerate(fitted.names)
            if len(np.unique(units.of[fitted.columns(k)])) > 1
        ]
        if split:
            raise ValueError(
                f"{type(self).__name__} was fitted with feature_groups, and its knockoffs are "
                f"valid for swaps of "
                f"whole groups alone, but {listing([repr(name) for name in split])} would not be "
                f"swapped so. "
                "Pass the feature_groups of the fit, or unions of these, or fit without groups."
            )

    @property
    def _modelled_count(self) -> int:
        """Number of internal columns that the model sees."""
        return self.encoding_.width

    @property
    def modelled_(self) -> Flags:
        """Which features have internal columns; the others have copies for knockoffs."""
        return np.isin(np.arange(self.n_features_in_), self.encoding_.unit)

    def _name_of_internal(self, column: int | np.integer[Any]) -> str:
        """The feature that an internal column belongs to, in words."""
        feature = self.encoding_.unit[column]
        return (
            column_name(self._names, feature)
            if feature < self.n_features_in_
            else "a class of rows"
        )

    @property
    def _handles_discrete(self) -> bool:
        """Return whether the model itself describes discrete distributions."""
        return False

    @property
    def _draws_latents_apart(self) -> bool:
        """Return whether latents are drawn whatever the other columns, which weakens dependence."""
        return self.has_given_model()

    def has_given_model(self) -> bool:
        """Return whether the model of the rows was given, in the units of the columns,
        and not learned.
        """
        return False

    def _require_finite_draws(self, drawn: Array) -> None:
        """Raise an error that names the columns and rows for draws that are not finite."""
        bad = ~np.isfinite(drawn)
        if not bad.any():
            return
        which = listing(
            list(dict.fromkeys(self._name_of_internal(j) for j in np.flatnonzero(bad.any(0))))
        )
        rows = np.flatnonzero(bad.any(1))
        raise ValueError(
            f"{type(self).__name__}: the draws for {which} are not finite in {len(rows)} of "
            f"{len(drawn)} rows "
            f"(the first is row {rows[0] + 1}). Such rows hold numbers too far from those of the "
            f"fit: correct or "
            "drop these rows, or fit on a table that has such values."
        )

    def _require_enough(self, table: Table) -> None:
        rows = len(table)
        if rows < MIN_ROWS:
            raise ValueError(
                f"{type(self).__name__}: X has {counted(rows, 'row')} (n_samples={rows}); at "
                f"least {MIN_ROWS} are "
                "needed to learn how the columns depend on each other. Collect more rows."
            )
        if rows < FEW_ROWS:
            caution(
                f"X has only {rows} rows: how its columns depend on each other can hardly be "
                f"learned, and "
                f"{self._draw_word}s that miss it do not bound false discoveries. A few hundred "
                f"rows or more make "
                "sense."
            )

    def _require_columns(self, varied: Flags) -> None:
        if varied.sum() < MIN_COLUMNS:
            differing = (
                f"{varied.sum()} {'varies and differs' if varied.sum() == 1 else 'vary and differ'}"
            )
            raise ValueError(
                f"{type(self).__name__}: X has {counted(len(varied), 'column')} "
                f"(n_features={len(varied)}), of "
                f"which {differing}; at least {MIN_COLUMNS} are needed. Add the other features."
            )

    def _require_free_features(self) -> None:
        if self.encoding_.copied.all():
            raise ValueError(
                f"{type(self).__name__}: every column of X is constant or determined by other "
                f"columns, so that "
                f"each {self._draw_word} would be a copy and nothing can be {self._use_word}. "
                f"Drop columns that "
                "follow from others, or add other features."
            )

    def _require_numbers(self, schema: Schema) -> None:
        """Refuse what a model in the units of the columns cannot describe."""
        bad = [
            j for j, column in enumerate(schema) if column.missing > 0 or column.levels is not None
        ]
        if bad:
            which = listing([column_name(self._names, j) for j in bad])
            raise ValueError(
                f"{type(self).__name__}: {which}: text, categories or missing cells, which the "
                f"given model of "
                "numbers cannot describe. Let the generator learn its model, or encode these "
                "columns."
            )

    def _require_sane_range(self, core: Array, varied: Flags) -> None:
        for j in np.flatnonzero(varied):
            column = core[~np.isnan(core[:, j]), j]
            if len(column) == 0:
                continue
            low, middle, high = np.quantile(column, [0.05, 0.5, 0.95])
            with np.errstate(over="ignore"):  # an infinite distance is too far as well
                farthest = np.abs(column - middle).argmax()
                too_far = high > low and abs(column[farthest] - middle) > 1e8 * (high - low)
            if too_far:
                raise ValueError(
                    f"{type(self).__name__}: {column_name(self._names, j)} has a value "
                    f"{column[farthest]:g}, "
                    f"while nine tenths of its values lie within {high - low:g} of each other; "
                    f"its scale would be "
                    "lost. Correct or clip that value, or take logarithms of the column."
                )
        require_squares(np.where(varied, core, np.nan), self._names, who=type(self).__name__)

    def _warn_of_few_values(self, schema: Schema, varied: Flags) -> None:
        few = [
            j
            for j, column in enumerate(schema)
            if varied[j] and column.discrete and len(column.values) < FEW_VALUES
        ]
        if few:
            caution(
                f"{listing([column_name(self._names, j) for j in few])}: fewer than {FEW_VALUES} "
                f"distinct values. "
                f"They are modelled as if spread evenly around each value, so their "
                f"{self._draw_word}s depend "
                "too little on the other columns (correlations up to a quarter too small): take "
                "discoveries among "
                "and near these columns with care."
            )

    def _dependence(self, core: Array, varied: Flags) -> tuple[Indices, Dependence]:
        """Columns of numbers without gaps, and how far they are linear combinations of each
        other.
        """
        of_levels = np.array([column.holds.of_levels for column in self.schema_])
        numbers = varied & ~np.isnan(core).any(0) & ~of_levels
        columns = np.flatnonzero(numbers)
        if len(columns) < MIN_COLUMNS or len(core) <= 2 * len(columns):
            # with so few rows every column is almost a combination of the others
            columns = columns[:0]
        return columns, linear_dependence(core[:, columns], self.schema_.units.of[columns])

    def _keep_combinations(self, core: Array, varied: Flags) -> None:
        """Keep columns that add up, such as an indicator of each category, as they are:
        nothing else is valid.
        """
        columns, dependence = self._dependence(core, varied & self.modelled_)
        kept = columns[dependence.exact]
        if len(kept):
            self.encoding_ = replace(self.encoding_, kept=tuple(kept.tolist()))
            caution(
                f"{listing([column_name(self._names, j) for j in kept])}: a linear combination of "
                f"other columns, "
                f"which determine it. The only valid {self._draw_word} is a copy, so such a "
                f"feature cannot be "
                f"{self._use_word}. Drop one column of each set that adds up, such as one "
                f"category's indicator, "
                "or ask about the set as a whole (feature_groups=, --feature-groups)."
            )

    def _keep_filled_in(self, core: Array, varied: Flags) -> None:
        """Keep columns of which one is the other with some gaps filled in:
        swapping one alone would show.
        """
        of = self.schema_.units.of
        numbers = (
            varied & self.modelled_ & np.array([column.levels is None for column in self.schema_])
        )
        pairs = [(j, k) for j, k in equal_where_present(core, numbers) if of[j] != of[k]]
        if pairs:
            kept = sorted({*self.encoding_.kept, *(j for pair in pairs for j in pair)})
            self.encoding_ = replace(self.encoding_, kept=tuple(kept))
            which = [
                f"{column_name(self._names, j)} (as {column_name(self._names, k)})"
                for j, k in pairs
            ]
            caution(
                f"{listing(which)}: equal wherever both are there. The only valid "
                f"{self._draw_word} of both is a "
                f"copy, so neither can be {self._use_word}. Keep one of each."
            )

    def _warn_of_dependence(self, core: Array, varied: Flags) -> None:
        columns, dependence = self._dependence(core, varied)
        few = dependence.own < DEPENDENT
        if few.any():
            which = listing([column_name(self._names, j) for j in columns[few]])
            caution(
                f"{which}: a linear combination of other columns (less than {DEPENDENT:g} of its "
                f"variance is "
                f"its own). Its {self._draw_word} is all but a copy, so it can hardly be "
                f"{self._use_word}. Drop "
                "what the others add up to."
            )

    def _warn_of_determined(self, varied: Flags, recoded: Indices) -> None:
        """Warn of features that follow from others, by relations that `relations.py` or
        `dependence.py` has found.
        """
        in_relation = ~self.modelled_ | np.isin(self.encoding_.alike, recoded)
        determined = np.flatnonzero(varied & in_relation & self.encoding_.copied)
        if len(determined):
            caution(
                f"{listing([column_name(self._names, j) for j in determined])}: determined by "
                f"other columns. The "
                f"only valid {self._draw_word} is a copy, so such a feature cannot be "
                f"{self._use_word}. Drop it, "
                "or what determines it."
            )

    def _warn_of_special_columns(self, schema: Schema, alike: Indices) -> None:
        constant = ~schema.varies
        if constant.any():
            which = listing(
                [
                    column_name(self._names, j)
                    + (" (entirely missing)" if schema[int(j)].missing == 1 else "")
                    for j in np.flatnonzero(constant)
                ]
            )
            caution(
                f"{which}: constant. The {self._draw_word} is the constant, and such a feature is "
                f"never "
                f"{self._use_word}."
            )
        unit = schema.units.of
        duplicate = (unit[alike] != unit) & ~constant
        if duplicate.any():
            which = listing(
                [
                    f"{column_name(self._names, j)} (same as {column_name(self._names, alike[j])})"
                    for j in np.flatnonzero(duplicate)
                ]
            )
            caution(
                f"{which}: duplicates. The only valid {self._draw_word} of a duplicated column is "
                f"a copy, so "
                f"neither can be {self._use_word}. Keep one of each."
            )


def _values_seen(column: Column) -> Array:
    """The values of a column in the fit, which are not listed for a continuous quantity."""
    return np.array(column.values if column.discrete else [np.inf])


def _cells_in_words(table: Table, j: int | np.integer[Any], rows: Flags) -> str:
    """Different cells of some rows of a column, as they stand in the table."""
    levels = table.levels[j]
    found = np.unique(table.codes[rows, j]).tolist()
    return listing(
        [
            "missing" if np.isnan(c) else repr(c if levels is None else levels[int(c)])
            for c in found
        ],
        3,
    )
