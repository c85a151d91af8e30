"""What all generators share: the reading and checking of tables, special columns, the public methods."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from knockoffs.arrays import Array, Indices
from knockoffs.cautions import caution
from knockoffs.checks import check_choice, check_count
from knockoffs.persistence import ModelFileError, read_model, write_model
from knockoffs.randomness import RandomState, random_generator
from knockoffs.tables import column_name, listing, read_table, write_like

MIN_ROWS = 10
FEW_ROWS = 50
MIN_COLUMNS = 2
FEW_VALUES = 10
DEPENDENT = 1e-4


class TableModel(BaseEstimator):
    """A model of a table's columns; leaves out the columns that cannot or need not be modelled.

    * Constant columns are left out: they carry nothing.
    * Of columns that are identical only the first is modelled.
    * Discrete columns (whole numbers, many ties, or one value in a twentieth of the rows) are spread evenly over
      the cell around each value for the fit, and drawn values go back to the nearest value seen. With few values
      this weakens their dependence on other columns, which a warning says.
    """

    random_state: RandomState
    _fitted = False
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]
    levels_: list[Array | None]
    _names: list[str] | None

    def __sklearn_is_fitted__(self) -> bool:
        return self._fitted

    def _read_for_fit(self, X: Any) -> Array:
        values, names = read_table(X, who=type(self).__name__)
        self._require_enough(values)
        validate_data(self, X, skip_check_array=True, reset=True)
        self._names = names
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

    @property
    def _spreads_discrete(self) -> bool:
        """Whether discrete columns are spread around their values: not where the model knows discrete laws."""
        return True

    def _blur(self, core: Array, rng: np.random.Generator) -> Array:
        """Whole numbers spread evenly over the cell around them, so that a density can describe them."""
        return self._blur_at(core, rng.random(core.shape)) if self._spreads_discrete else core

    def _blur_at(self, core: Array, place: Array) -> Array:
        """Values of discrete columns moved to these places (0 to 1) in the cells around them."""
        core = core.copy()
        for j, levels in enumerate(self.levels_):
            if levels is not None:
                half = np.diff(levels) / 2
                below, above = np.append(half[0], half), np.append(half, half[-1])
                cell = _nearest(levels, core[:, j])
                core[:, j] = levels[cell] - below[cell] + place[:, j] * (below + above)[cell]
        return core

    def _sharpen(self, core: Array) -> Array:
        """Back to the nearest value seen in the fit."""
        core = core.copy()
        for j, levels in enumerate(self.levels_):
            if levels is not None:
                core[:, j] = levels[_nearest(levels, core[:, j])]
        return core

    def _complete(self, core: Array) -> Array:
        """All columns: the modelled ones, the constants, and the duplicates of modelled ones."""
        values = np.broadcast_to(self.constant_value_, (len(core), self.n_features_in_)).copy()
        values[:, self.modelled_] = core
        values[:, self.duplicate_] = values[:, self.first_alike_[self.duplicate_]]
        return values

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
        if few and self._spreads_discrete:
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
                "its own). Its knockoff is all but a copy, so it cannot be selected. Drop what others add up to."
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


class KnockoffGenerator(TableModel, ABC):
    """A generator of knockoffs: learns from X alone, never from a response.

    It has `fit` and `sample`; subclasses write `_state` and `_restore` for model files.
    """

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file (safetensors with a JSON header)."""
        header, arrays = self._content()
        write_model(path, type(self).__name__, header, arrays)

    def _content(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """What a model file holds."""
        check_is_fitted(self)
        header, arrays = self._state()
        params = {k: v for k, v in self.get_params(deep=False).items() if k not in _NOT_IN_FILES}
        arrays |= {f"param.{k}": np.asarray(params.pop(k)) for k in [*params] if _is_array(params[k])}
        seed = self.random_state if isinstance(self.random_state, (int, np.integer)) else None
        names = getattr(self, "feature_names_in_", None)
        table = {
            "feature_names": None if names is None else list(names),
            "names": self._names,
            "n_features": self.n_features_in_,
            "levels": [None if levels is None else levels.tolist() for levels in self.levels_],
        }
        arrays |= {f"table.{name}": getattr(self, f"{name}_") for name in _TABLE_ARRAYS}
        header |= {"params": params | {"random_state": None if seed is None else int(seed)}, "table": table}
        return header, arrays

    @classmethod
    def load(cls, path: str | os.PathLike[str], **overrides: Any) -> Self:
        """Read a model that `.save` wrote; `overrides` replace settings (the device is `"auto"` without one)."""
        header, arrays = read_model(path, cls.__name__)
        for name in overrides:
            check_choice(name, name, tuple(cls().get_params()))
        try:
            return cls._from_file(header, arrays, overrides)
        except (KeyError, TypeError, RuntimeError) as error:
            raise ModelFileError(
                f"{os.fspath(path)!r} lacks parts of a {cls.__name__} model ({error!r}). Save the model again."
            ) from error

    @classmethod
    def _from_file(
        cls, header: dict[str, Any], arrays: dict[str, NDArray[Any]], overrides: dict[str, Any]
    ) -> Self:
        params = {k: tuple(v) if isinstance(v, list) else v for k, v in header["params"].items()}
        params |= {k.removeprefix("param."): arrays.pop(k) for k in [*arrays] if k.startswith("param.")}
        if "device" in params:
            params["device"] = "auto"
        model = cls(**(params | overrides))
        table = header["table"]
        model.n_features_in_ = table["n_features"]
        if table["feature_names"] is not None:
            model.feature_names_in_ = np.array(table["feature_names"], dtype=object)
        model._names = table["names"]
        model.levels_ = [None if levels is None else np.array(levels) for levels in table["levels"]]
        for name in _TABLE_ARRAYS:
            setattr(model, f"{name}_", arrays.pop(f"table.{name}"))
        model._restore(header, arrays)
        model._fitted = True
        return model

    def _as_table(self, X: Any, drawn: Array) -> Any:
        """Drawn values of the modelled columns as a table like X, with all its columns."""
        values = self._complete(drawn)
        copied = self.duplicated_ | self.constant_  # a copy is always valid, also where a constant varies by now
        if copied.any():
            original, _ = read_table(X, who=type(self).__name__)
            values[:, copied] = original[:, copied]
        return write_like(X, values)

    @abstractmethod
    def _check_settings(self) -> None:
        """Raise an error for arguments that are out of range."""

    @abstractmethod
    def _state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]: ...

    @abstractmethod
    def _restore(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None: ...


class RowwiseGenerator(KnockoffGenerator):
    """A generator for rows that are independent of each other.

    Subclasses write `_fit(core, rng)` and `_sample(core, rng)` on the modelled columns.
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the law of the rows of X. `y` is there for pipelines and is ignored."""
        self._check_settings()
        rng = random_generator(self.random_state)
        self._fitted = False  # until the fit has gone through
        core = self._read_for_fit(X)
        self._fit(self._blur(core, rng), rng)
        self._fitted = True
        return self

    def sample(self, X: Any, *, n_draws: int | None = None, random_state: RandomState = None) -> Any:
        """Knockoffs of the rows of X as a table like X, or a list of `n_draws` independent such tables.

        Without `random_state` the estimator's own is used, in a stream apart from that of the fit. A row's
        knockoff depends on that row, its position and the seed, not on the other rows. So two tables sampled with
        one seed share their noise: sample all rows in one call, or pass another `random_state` for each table.
        """
        core = self._read(X)
        rng = random_generator(self.random_state if random_state is None else random_state, stream=1)
        if n_draws is None:
            return self._sample_table(X, core, rng)
        check_count("n_draws", n_draws)
        return [self._sample_table(X, core, draw) for draw in rng.spawn(n_draws)]

    def _sample_table(self, X: Any, core: Array, rng: np.random.Generator) -> Any:
        blur, draw = rng.spawn(2)
        return self._as_table(X, self._sharpen(self._sample(self._blur(core, blur), draw)))

    @abstractmethod
    def _fit(self, core: Array, rng: np.random.Generator) -> None: ...

    @abstractmethod
    def _sample(self, core: Array, rng: np.random.Generator) -> Array: ...


def _is_array(value: Any) -> bool:
    return hasattr(value, "__array__") and not isinstance(value, np.generic)


_NOT_IN_FILES = ("random_state", "model", "generator")  # seeds, and objects that `_state` describes
_TABLE_ARRAYS = ("constant", "constant_value", "first_alike", "duplicate", "duplicated", "modelled")


def discrete_levels(column: Array) -> Array | None:
    """The values of a discrete column: whole-numbered (below 2^53, where not all floats are), or full of ties."""
    values, counts = np.unique(column, return_counts=True)
    whole = np.all(values == np.rint(values)) and np.abs(values).max() < 2**53
    tied = len(values) <= len(column) / 2 or counts.max() > max(2, 0.05 * len(column))
    return values if whole or tied else None


def _nearest(levels: Array, values: Array) -> Indices:
    return np.searchsorted((levels[1:] + levels[:-1]) / 2, values)


def _first_alike(values: Array) -> Indices:
    """For each column the number of the first column equal to it."""
    seen: dict[bytes, int] = {}
    return np.array(
        [seen.setdefault((column + 0.0).tobytes(), j) for j, column in enumerate(values.T)], dtype=np.intp
    )


def below(arrays: dict[str, NDArray[Any]], name: str) -> dict[str, NDArray[Any]]:
    """The arrays whose names begin with `name.`, without that beginning."""
    return {key.removeprefix(f"{name}."): value for key, value in arrays.items() if key.startswith(f"{name}.")}
