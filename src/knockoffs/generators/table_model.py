"""Models of a table's columns: which are modelled, how discrete ones are, and warnings of special ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from knockoffs.arrays import Array, Indices
from knockoffs.cautions import caution
from knockoffs.fingerprints import row_fingerprints, share_of_known, smallest_fingerprints
from knockoffs.generators.encoding import Encoding, ExactEncoding, SpreadEncoding, discrete_levels
from knockoffs.generators.latent import fit_latent
from knockoffs.randomness import RandomState
from knockoffs.tables import column_name, listing, read_table

MIN_ROWS = 10
FEW_ROWS = 50
MIN_COLUMNS = 2
FEW_VALUES = 10
DEPENDENT = 1e-4


class TableModel(BaseEstimator):
    """A model of a table's columns; leaves out the columns that cannot or need not be modelled.

    * Constant columns are left out: they carry nothing.
    * Of columns that are identical only the first is modelled.
    * Discrete columns (whole numbers, many ties, or one value in a twentieth of the rows) are modelled by latent
      normal variables, of which only the cell is seen (`latent.py`); drawn ones give values seen in the fit. Where
      a model is given in the units of the columns they are spread evenly over the cells around their values
      instead, which weakens the dependence of columns with few values; a warning says so.
    """

    random_state: RandomState
    _fitted = False
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]
    levels_: list[Array | None]
    encoding_: Encoding
    fingerprints_: NDArray[np.uint64] | None
    _names: list[str] | None

    def __sklearn_is_fitted__(self) -> bool:
        return self._fitted

    def _read_for_fit(self, X: Any) -> Array:
        values, names = read_table(X, who=type(self).__name__)
        self._require_enough(values)
        validate_data(self, X, skip_check_array=True, reset=True)
        self._names = names
        self.fingerprints_ = smallest_fingerprints(values)
        self.constant_ = values.max(0) == values.min(0)
        self.constant_value_ = np.where(self.constant_, values[0], 0.0)
        self.first_alike_ = first = _first_alike(values)
        self.duplicate_ = (first != np.arange(len(first))) & ~self.constant_
        self.duplicated_ = self.duplicate_ | np.isin(np.arange(len(first)), first[self.duplicate_])
        self.modelled_ = ~self.constant_ & ~self.duplicate_
        self._warn_of_special_columns(names)
        core = values[:, self.modelled_]
        self._require_columns(core, values.shape[1])
        self._require_sane_range(core, names)
        self.levels_ = [discrete_levels(column) for column in core.T]
        if self._spreads_discrete:
            self._warn_of_few_values(names)
        self._warn_of_dependence(core, names)
        return core

    def _read(self, X: Any) -> Array:
        """The modelled columns of a table that must have the columns of the fit."""
        check_is_fitted(self)
        values, names = read_table(X, who=type(self).__name__)
        validate_data(self, X, skip_check_array=True, reset=False)
        if names is not None and self._names is not None and names != self._names:  # names that are no strings
            raise ValueError(
                f"{type(self).__name__}: the columns {listing([repr(n) for n in names])} are not those of the "
                f"fit, in their order: {listing([repr(n) for n in self._names])}. Select them in that order."
            )
        return values[:, self.modelled_]

    def share_of_fit(self, X: Any) -> float:
        """Estimate the share of the rows of X that the model was fitted on; nan for models that do not know."""
        check_is_fitted(self)
        if self.fingerprints_ is None:
            return np.nan
        return share_of_known(row_fingerprints(read_table(X, who=type(self).__name__)[0]), self.fingerprints_)

    @property
    def _modelled_count(self) -> int:
        return int(np.count_nonzero(self.modelled_))

    @property
    def _handles_discrete(self) -> bool:
        """Return whether the model itself describes discrete distributions."""
        return False

    def has_given_model(self) -> bool:
        """Whether the model of the rows was given, in the units of the columns, instead of being learned."""
        return False

    @property
    def _spreads_discrete(self) -> bool:
        """Whether discrete columns are spread around their values, which keeps their units."""
        return self.has_given_model()

    def _encode_for_fit(self, core: Array, rng: np.random.Generator) -> Array:
        """Choose how discrete columns are modelled, and return the rows of the fit as the model sees them."""
        discrete = np.array([levels is not None for levels in self.levels_])
        if self._handles_discrete:
            self.encoding_ = ExactEncoding(self.levels_)
        elif self._spreads_discrete or not discrete.any():
            self.encoding_ = SpreadEncoding(self.levels_)
        else:
            self.encoding_ = fit_latent(core, discrete, rng)
        return self.encoding_.encode(core, rng)

    def _complete(self, core: Array) -> Array:
        """All columns: the modelled ones, the constants, and the duplicates of modelled ones."""
        values = np.broadcast_to(self.constant_value_, (len(core), self.n_features_in_)).copy()
        values[:, self.modelled_] = core
        values[:, self.duplicate_] = values[:, self.first_alike_[self.duplicate_]]
        return values

    def _require_finite_draws(self, core: Array) -> None:
        """Raise an error that names the columns and rows for draws that are not finite."""
        bad = ~np.isfinite(core)
        if not bad.any():
            return
        modelled = np.flatnonzero(self.modelled_)
        which = listing([column_name(self._names, modelled[j]) for j in np.flatnonzero(bad.any(0))])
        rows = np.flatnonzero(bad.any(1))
        raise ValueError(
            f"{type(self).__name__}: the draws for {which} are not finite in {len(rows)} of {len(core)} rows (the "
            f"first is row {rows[0] + 1}). Such rows hold numbers too far from those of the fit: correct or drop "
            "these rows, or fit on a table that has such values."
        )

    def _require_enough(self, values: Array) -> None:
        if len(values) < MIN_ROWS:
            raise ValueError(
                f"{type(self).__name__}: X has n_samples={len(values)} rows; at least {MIN_ROWS} are needed "
                "to learn how the columns depend on each other. Collect more rows."
            )
        if len(values) < FEW_ROWS:
            caution(
                f"X has only {len(values)} rows: how its columns depend on each other can hardly be learned, and "
                "knockoffs that miss it do not bound false discoveries. A few hundred rows or more make sense."
            )

    def _require_columns(self, core: Array, all_columns: int) -> None:
        if core.shape[1] < MIN_COLUMNS:
            raise ValueError(
                f"{type(self).__name__}: X has {all_columns} column(s) (n_features={all_columns}), of which "
                f"{core.shape[1]} vary and differ; at least {MIN_COLUMNS} are needed. Add the other features."
            )

    def _require_sane_range(self, core: Array, names: list[str] | None) -> None:
        low, middle, high = np.quantile(core, [0.05, 0.5, 0.95], axis=0)
        reach = np.abs(core - middle).max(0)
        lost = (high > low) & (reach > 1e8 * (high - low))
        if lost.any():
            j = int(np.flatnonzero(lost)[0])
            name = column_name(names, int(np.flatnonzero(self.modelled_)[j]))
            extreme = core[np.abs(core[:, j] - middle[j]).argmax(), j]
            raise ValueError(
                f"{type(self).__name__}: {name} has a value {extreme:g}, while nine tenths of its values lie "
                f"within {high[j] - low[j]:g} of each other; its scale would be lost. Correct or clip that value, "
                "or take logarithms of the column."
            )

    def _warn_of_few_values(self, names: list[str] | None) -> None:
        modelled = np.flatnonzero(self.modelled_)
        few = [j for j, levels in enumerate(self.levels_) if levels is not None and len(levels) < FEW_VALUES]
        if few and not self._handles_discrete:
            which = listing([column_name(names, modelled[j]) for j in few])
            caution(
                f"{which}: fewer than {FEW_VALUES} distinct values. They are modelled as if spread evenly around "
                "each value, so their knockoffs depend too little on the other columns (correlations up to "
                "a quarter too small): take discoveries among and near these columns with care."
            )

    def _warn_of_dependence(self, core: Array, names: list[str] | None) -> None:
        if len(core) <= 2 * core.shape[1]:
            return  # with so few rows every column is almost a combination of the others
        correlation = np.corrcoef(core.T) + 1e-9 * np.eye(core.shape[1])
        own = 1 / np.diag(
            np.linalg.inv(correlation)
        )  # share of a column's variance that the others do not explain
        if (own < DEPENDENT).any():
            modelled = np.flatnonzero(self.modelled_)
            which = listing([column_name(names, modelled[j]) for j in np.flatnonzero(own < DEPENDENT)])
            caution(
                f"{which}: a linear combination of other columns (less than {DEPENDENT:g} of its variance is "
                "its own). Its knockoff is all but a copy, so it can hardly be selected. Drop what the others add "
                "up to."
            )

    def _warn_of_special_columns(self, names: list[str] | None) -> None:
        if self.constant_.any():
            which = listing([column_name(names, j) for j in np.flatnonzero(self.constant_)])
            caution(f"{which}: constant. The knockoff is the constant, and such a feature is never selected.")
        if self.duplicate_.any():
            which = listing(
                [
                    f"{column_name(names, j)} (same as {column_name(names, self.first_alike_[j])})"
                    for j in np.flatnonzero(self.duplicate_)
                ]
            )
            caution(
                f"{which}: duplicates. The only valid knockoff of a duplicated column is a copy, so neither can "
                "be selected. Keep one of each."
            )


def _first_alike(values: Array) -> Indices:
    """Return, per column, the number of the first column that is equal to it."""
    seen: dict[bytes, int] = {}
    return np.array(
        [seen.setdefault((column + 0.0).tobytes(), j) for j, column in enumerate(values.T)], dtype=np.intp
    )
