"""What all generators share: `fit` and `sample`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from knockoffs.generators.saved_model import SavedModel, with_gradients
from knockoffs.kinds.encoding import TableEncoding
from knockoffs.kinds.units import Plain
from knockoffs.runtime.arrays import Array, Indices
from knockoffs.runtime.checks import check_count
from knockoffs.runtime.memory import require_memory
from knockoffs.runtime.parallel import suited_threads
from knockoffs.runtime.randomness import RandomState, random_generator
from knockoffs.schema.schema import FeatureGroups, Schema
from knockoffs.table.table import Table

# of a draw: a row's place among these is part of what its knockoff depends on
ROWS_AT_A_TIME = 2**16


class KnockoffGenerator(SavedModel):
    """A generator of knockoffs, with `fit` and `sample`: it learns from X alone,
    never from a response.

    Subclass `RowwiseGenerator` to write one of your own, and declare what it can do: `name` is what
    the selector and the command line know it by (`register_generator` makes it known), and
    `variants` are further names with the settings that each stands for. `cost` and `stages` are
    for progress bars: the time of a fit relative to that of a lasso, and the stages that it
    reports.
    """

    name: ClassVar[str]
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    knows_groups: ClassVar[bool] = False  # of rows, which it then draws together
    reads_tables: ClassVar[bool] = True  # of this package, and returns such ones
    exchangeable: ClassVar[bool] = True  # by Gaussian knockoffs, which a check tries instead
    has_densities: ClassVar[bool] = False  # of its pairs [x, x̃]: it has `swap_pairs` then
    needs_torch: ClassVar[bool] = False
    cost: ClassVar[float] = 12.0
    stages: ClassVar[int] = 4
    swap_probability_: Any = None

    @property
    def phases_of_fit(self) -> Sequence[Any]:
        """The losses of every phase of the fit, `history_`, where there are any."""
        return vars(self).get("history_", ())

    @property
    def fitted_schema(self) -> Schema | None:
        """What the fit has learned of the columns; None before a fit."""
        return self.schema_ if self.__sklearn_is_fitted__() else None

    def of_rows(self) -> KnockoffGenerator:
        """Return the generator of single rows: the one inside of a generator of groups."""
        return self

    def _as_table(self, X: Any, table: Table, drawn: Array) -> Any:
        """Drawn internal columns as a table like X, whose cells `table` holds."""
        self._require_finite_draws(drawn)
        return self._in_form(X, table.with_codes(self.encoding_.decode(drawn, table.codes)))

    @staticmethod
    def _in_form(X: Any, knockoffs: Table) -> Any:
        return knockoffs if isinstance(X, Table) else knockoffs.to_native()


class RowwiseGenerator(KnockoffGenerator):
    """A generator for rows that are independent of each other.

    It has two storeys. `fit` and `sample` take tables, read them, and warn of what cannot be
    modelled. `fit_columns` and `sample_columns` take arrays of numbers, for generators that are
    made of others. Both call `_fit(core, rng)` and `_sample(core, rng)` on internal columns, which
    subclasses write, as well as `_fit_memory` for the memory that a fit takes.
    """

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        kinds: Mapping[Any, str] | None = None,
        feature_groups: FeatureGroups = None,
    ) -> Self:
        """Learn the distribution of the rows of X.

        Raises a NotEnoughMemoryError before the work begins if it needs more memory than the
        machine has.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Numbers, booleans, text and categories, with or without missing cells.
        y : object, default=None
            Ignored; it is there for pipelines.
        kinds : dict of column names (or numbers) to kinds, default=None
            Kinds of columns that are known better than `infer_schema` finds out, such as `{"ward":
            "nominal"}`.
        feature_groups : dict of group names to lists of column names (or numbers), default=None
            Columns that are only ever swapped together. DDLK and (mixtures of) Gaussian knockoffs
            then need not keep each column near its own knockoff, which gives power; they are
            knockoffs of groups, and valid for these and unions of these alone. Other generators
            draw knockoffs of single columns, which are valid for any groups, too.
        """
        table, rng = self._begin_fit(X, kinds, feature_groups)
        require_memory(type(self).__name__, *table.shape, self._fit_memory)
        self._describe(table, rng)
        if self.encoding_.width != table.shape[1]:
            require_memory(type(self).__name__, len(table), self.encoding_.width, self._fit_memory)
        self._learn(table.codes, rng)
        self._fitted = True
        return self

    def _learn(self, codes: Array, rng: np.random.Generator) -> None:
        with suited_threads(codes), with_gradients():
            self._fit(self._encode_for_fit(codes, rng), rng)

    def fit_columns(
        self, z: Array, *, names: list[str], units: Indices | None, random_state: RandomState
    ) -> Self:
        """Learn from columns of numbers, all of which vary and differ: the storey below `fit`.

        `names` are what messages call them, and `units` the numbers of the units that they are
        swapped with; None where each is swapped alone. No table belongs to the model then, so it
        draws by `sample_columns` alone.
        """
        self._check_settings()
        rng, self._fitted = random_generator(random_state), False
        self._see_columns(names, units)
        require_memory(type(self).__name__, len(z), len(names), self._fit_memory)
        self._learn(z, rng)
        return self

    def restore_columns(
        self,
        header: dict[str, Any],
        arrays: dict[str, NDArray[Any]],
        *,
        names: list[str],
        units: Indices | None,
    ) -> Self:
        """Give a model with its settings all that `_model_content` described."""
        self._see_columns(names, units)
        self._restore_model(header, arrays)
        return self

    def _see_columns(self, names: list[str], units: Indices | None) -> None:
        self._names, self.n_features_in_ = names, len(names)
        alone = np.arange(len(names))
        self.encoding_ = TableEncoding((Plain(),) * len(names), alone, swapped=units)

    def sample_columns(self, z: Array, rng: np.random.Generator) -> Array:
        """Draw knockoffs of columns of numbers, those of `fit_columns`: the storey below
        `sample`.
        """
        return self._draw(z, rng)[1]

    def _encode_for_fit(self, codes: Array, rng: np.random.Generator) -> Array:
        """The internal columns that `_fit` learns from; a model may take some rows,
        or several draws of each.
        """
        return self.encoding_.encode(codes, rng)

    def sample(
        self, X: Any, *, n_draws: int | None = None, random_state: RandomState = None
    ) -> Any:
        """Knockoffs of the rows of X as a table like X,
        or a list of `n_draws` independent such tables.

        Without `random_state` the estimator's own is used, in a stream apart from that of the fit.
        A row's knockoff depends on that row, its position and the seed, not on the other rows. So
        two tables sampled with one seed share their noise: sample all rows in one call, or pass
        another `random_state` for each table. Rows so far from those of the fit that their
        knockoffs would not be finite numbers raise a ValueError. A cell with a level that the fit
        has not seen, or a missing one where the fit had none, is its own knockoff; a warning names
        such columns.
        """
        table = self._read(X)
        self._warn_of_unseen(table)
        rng = random_generator(
            self.random_state if random_state is None else random_state, stream=1
        )
        if n_draws is None:
            return self._knockoffs(X, table, rng)
        check_count("n_draws", n_draws)
        return [self._knockoffs(X, table, draw) for draw in rng.spawn(n_draws)]

    def sample_batches(
        self, batches: Iterable[Any], *, random_state: RandomState = None
    ) -> Iterator[Any]:
        """Yield the knockoffs of one table of rows after the other,
        for tables that are larger than memory.

        With batches of `ROWS_AT_A_TIME` rows (the last may have fewer) they are those of `sample`
        for all rows.
        """
        streams = _Streams.of(
            random_generator(self.random_state if random_state is None else random_state, stream=1)
        )
        for X in batches:
            table = self._read(X)
            self._warn_of_unseen(table)
            yield self._as_table(X, table, self._draw_some(table.codes, streams)[1])

    def _knockoffs(self, X: Any, table: Table, rng: np.random.Generator) -> Any:
        """Knockoffs of the rows of X, whose cells `table` holds,
        some rows at a time to save memory.
        """
        streams, codes = _Streams.of(rng), np.empty(table.shape)
        for rows in _some_at_a_time(len(table)):
            _, drawn = self._draw_some(table.codes[rows], streams)
            self._require_finite_draws(drawn)
            codes[rows] = self.encoding_.decode(drawn, table.codes[rows])
        return self._in_form(X, table.with_codes(codes))

    def _draw(self, codes: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        """The internal columns of rows and of their knockoffs."""
        streams = _Streams.of(rng)
        parts = [self._draw_some(codes[rows], streams) for rows in _some_at_a_time(len(codes))]
        return np.concatenate([z for z, _ in parts]), np.concatenate([drawn for _, drawn in parts])

    def _draw_some(self, codes: Array, streams: _Streams) -> tuple[Array, Array]:
        # Numbers that overflow are found later, by a check that names their columns; numpy's
        # warnings do not.
        with np.errstate(over="ignore", invalid="ignore"):
            z = self.encoding_.encode(codes, streams.latents)
            return z, self._sample(z, next(streams.noise))

    @abstractmethod
    def _fit_memory(self, rows: int, columns: int) -> float:
        """Estimate the bytes of memory that a fit to so many internal columns takes at its peak."""

    @abstractmethod
    def _fit(self, core: Array, rng: np.random.Generator) -> None: ...

    @abstractmethod
    def _sample(self, core: Array, rng: np.random.Generator) -> Array: ...


class _Streams(NamedTuple):
    """The randomness of draws for some rows after the other: of latents,
    and of the noise of each part.
    """

    latents: np.random.Generator
    noise: Iterator[np.random.Generator]

    @classmethod
    def of(cls, rng: np.random.Generator) -> _Streams:
        latents, noise = rng.spawn(2)
        return cls(latents, _descendants(noise))


def _descendants(rng: np.random.Generator) -> Iterator[np.random.Generator]:
    while True:
        yield rng
        (rng,) = rng.spawn(1)


def _some_at_a_time(rows: int) -> list[slice]:
    return [slice(start, start + ROWS_AT_A_TIME) for start in range(0, rows, ROWS_AT_A_TIME)]
