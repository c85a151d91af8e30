"""Knockoffs of rows that belong together, such as the visits of one patient."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from knockoffs.generators.base import KnockoffGenerator, RowwiseGenerator
from knockoffs.generators.group_columns import (
    FINEST_GRID,
    constant_within,
    decimals_of_grids,
    with_kinds_of_groups,
)
from knockoffs.generators.hierarchy import Hierarchy, fit_hierarchy, group_means
from knockoffs.generators.registry import GENERATORS
from knockoffs.generators.table_model import MIN_ROWS
from knockoffs.kinds.scales import normal_scale, restore_scale, scale_arrays
from knockoffs.runtime.arrays import Array, Flags, Indices
from knockoffs.runtime.cautions import caution
from knockoffs.runtime.checks import check_choice, check_count
from knockoffs.runtime.memory import FLOAT64, require_memory
from knockoffs.runtime.model_files import take_array
from knockoffs.runtime.randomness import RandomState, random_generator
from knockoffs.runtime.registry import by_name
from knockoffs.schema.schema import FeatureGroups
from knockoffs.schema.words import called, column_name, counted, listing
from knockoffs.table.row_structure import require_same_order
from knockoffs.table.table import Table, group_labels

PARTS = ("between", "within")


class HierarchicalKnockoffs(KnockoffGenerator):
    r"""Knockoffs of a table whose rows come in groups that are independent of each other.

    Knockoffs that are drawn row by row are less alike within a group than the rows themselves, so
    that features which a group has in common seem to matter. Here each row is taken apart, on a
    scale on which its columns are close to normal, into $x_{gi} = a_g + e_{gi}$: a part that its
    group has in common and a part of its own, drawn from their distribution given all rows of the
    group. Two generators, one for each part, give knockoffs of both, and their sum is the knockoff
    of the row. Any random a that depends on the rows alone gives valid knockoffs as long as a and e
    have knockoffs of their own; they are exact for hierarchical Gaussian rows with known
    covariances. Columns that are constant within every group (the sex of a patient) have knockoffs
    that are constant within every group.

    What is assumed: groups are independent of each other, the order of rows within a group does not
    matter (so a drift over the visits of a patient is not modelled), and the e of different rows
    are independent of each other.

    Parameters
    ----------
    generator : KnockoffGenerator, default=None
        Unfitted generator for both parts; `DDLK()` by default. Independent groups are what it
        learns from, so there should be as many of them as it would need rows.
    random_state : int, Generator, RandomState or None, default=None
        Seed; the same seed gives the same knockoffs on the same machine.

    Attributes
    ----------
    between_, within_ : KnockoffGenerator
        The generators of a and of e; `within_` is None where no column varies within groups.
    hierarchy_ : Hierarchy
        The hierarchical Gaussian from which a is drawn.

    Examples
    --------
    >>> import numpy as np
    >>> from knockoffs import GaussianKnockoffs, HierarchicalKnockoffs
    >>> rng = np.random.default_rng(0)
    >>> patient = np.repeat(np.arange(50), 4)
    >>> X = rng.normal(size=(50, 3))[patient] + rng.normal(size=(200, 3))
    >>> X[:, 0] = rng.normal(size=50)[patient]  # the age of a patient, say
    >>> model = HierarchicalKnockoffs(GaussianKnockoffs(), random_state=0).fit(X, groups=patient)
    >>> X_tilde = model.sample(X, groups=patient)
    >>> all(len(set(X_tilde[patient == p, 0])) == 1 for p in range(50))
    True
    """

    knows_groups = True

    def __init__(
        self, generator: KnockoffGenerator | None = None, *, random_state: RandomState = None
    ) -> None:
        self.generator = generator
        self.random_state = random_state

    def of_rows(self) -> KnockoffGenerator:
        """Return the unfitted generator of the parts, by default a new one."""
        return by_name(self.generator, GENERATORS)

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        groups: Any = None,
        kinds: Mapping[Any, str] | None = None,
        feature_groups: FeatureGroups = None,
    ) -> Self:
        """Learn the distribution of the groups of rows of X.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            The features.
        y : object, default=None
            Ignored; it is there for pipelines.
        groups : array-like of shape (n_rows,)
            One label per row; rows with the same label belong together.
        kinds : dict of column names (or numbers) to kinds, default=None
            Kinds of columns that are known better than `infer_schema` finds out, such as `{"ward":
            "nominal"}`.
        feature_groups : dict of group names to lists of column names (or numbers), default=None
            Columns that are only ever swapped together (not to be confused with `groups`, which are
            of rows).
        """
        table, rng = self._begin_fit(X, kinds, feature_groups)
        labels = self._labels(X, groups, len(table))
        require_memory(type(self).__name__, *table.shape, self._fit_memory)
        count = int(labels.max()) + 1
        if count < MIN_ROWS:
            raise ValueError(
                f"groups has {counted(count, 'different label')}; at least {MIN_ROWS} groups are "
                "needed, since only different groups are independent of each other. Collect more "
                "groups."
            )
        if count == len(labels):
            raise ValueError(
                f"groups has a label of its own for each of the {count} rows, so that nothing "
                f"says how rows of a "
                "group differ. Pass labels that repeat, or use the generator itself, for "
                "independent rows."
            )
        if count < max(2 * MIN_ROWS, table.shape[1]):
            caution(
                f"There are only {count} groups for {table.shape[1]} columns: what the rows of a "
                f"group have in "
                "common can hardly be learned, and false discoveries are bounded less well. More "
                "groups help; "
                "more rows per group do not."
            )
        self._describe(with_kinds_of_groups(table, labels), rng)
        self._decimals = decimals_of_grids(table, self.schema_)
        encoded = self._encode_groups(table.codes, labels, rng)
        self._scale = normal_scale(encoded)
        z, _ = self._scale.forward(encoded)
        self._constant_within = constant_within(z, labels)
        self.hierarchy_ = fit_hierarchy(z, labels)
        common, own = self._parts(z, labels, rng)
        seeds = [int(seed) for seed in rng.integers(2**31, size=len(PARTS))]
        self.between_, self._varies_between = self._fit_part(common, seeds[0])
        self.within_, self._varies_within = self._fit_part(own, seeds[1])
        self._fitted = True
        return self

    def sample(
        self,
        X: Any,
        *,
        groups: Any = None,
        n_draws: int | None = None,
        random_state: RandomState = None,
    ) -> Any:
        """Draw knockoffs of the rows of X, a table like X,
        or a list of `n_draws` independent such tables.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            The features.
        groups : array-like of shape (n_rows,)
            One label per row. All rows of a group must be passed together: their knockoffs depend
            on each other.
        n_draws : int, default=None
            How many tables to draw.
        random_state : int, Generator, RandomState or None, default=None
            Seed; by default the estimator's own, in a stream apart from that of the fit.
        """
        table = self._read(X)
        labels = self._labels(X, groups, len(table))
        self._warn_of_unseen(table)
        self._require_constant_within(table.codes, labels)
        rng = random_generator(
            self.random_state if random_state is None else random_state, stream=1
        )
        if n_draws is None:
            return self._as_table(X, table, self._draw(table.codes, labels, rng))
        check_count("n_draws", n_draws)
        return [
            self._as_table(X, table, self._draw(table.codes, labels, draw))
            for draw in rng.spawn(n_draws)
        ]

    def _as_table(self, X: Any, table: Table, drawn: Array) -> Any:
        self._require_finite_draws(drawn)
        codes = self.encoding_.decode(drawn, table.codes)
        return self._in_form(X, table.with_codes(self._on_grids(codes, table.codes)))

    def _on_grids(self, codes: Array, of: Array) -> Array:
        """Knockoffs `codes` of the cells `of`, rounded to the grid where these lie on it.

        Rounding both of a pair commutes with swaps, and leaves a cell on the grid as it is. So
        knockoffs that are rounded are knockoffs of the cells.
        """
        for j in np.flatnonzero(self._decimals >= 0):
            decimals = int(self._decimals[j])
            lies = (np.round(of[:, j], decimals) == of[:, j]) | np.isnan(of[:, j])
            # 0.0 in place of -0.0, which files show
            codes[lies, j] = np.round(codes[lies, j], decimals) + 0.0
        return codes

    def _fit_memory(self, rows: int, columns: int) -> float:
        """Covariances, their inverses and decompositions for each size of group,
        beside the parts' own need.
        """
        return FLOAT64 * columns * (10 * columns + 6 * rows)

    def _require_constant_within(self, core: Array, labels: Indices) -> None:
        """Refuse columns that vary within groups although they did not in the fit:
        their own part is unknown.
        """
        if len(core) == 0:
            return
        constant = self.modelled_.copy()
        constant[
            self.encoding_.unit[~self._constant_within & (self.encoding_.unit < len(constant))]
        ] = False
        varying = constant & ~constant_within(np.nan_to_num(core, nan=np.inf), labels)
        if varying.any():
            which = listing([column_name(self._names, j) for j in np.flatnonzero(varying)])
            raise ValueError(
                f"HierarchicalKnockoffs: {which} was constant within every group of the fit and "
                f"varies within "
                "groups of these rows. Fit on rows where it varies."
            )

    def _labels(self, X: Any, groups: Any, rows: int) -> Indices:
        if groups is None:
            raise ValueError(
                "HierarchicalKnockoffs: groups is missing. Pass groups= (--groups COL at the "
                "command line), one "
                "label per row; rows with the same label belong together. For rows that are "
                "independent of each "
                "other use the generator itself."
            )
        require_same_order(X, groups=groups, who="HierarchicalKnockoffs")
        return group_labels(groups, rows=rows, who="HierarchicalKnockoffs")

    def _draw(self, core: Array, labels: Indices, rng: np.random.Generator) -> Array:
        """The sum of the knockoffs of both parts, in the units of the columns."""
        if len(core) == 0:
            return np.empty((0, self.encoding_.width))
        for_latents, parts, for_between, for_within = rng.spawn(4)
        # Numbers that overflow are found by checks that name their columns; numpy's warnings do
        # not.
        with np.errstate(over="ignore", invalid="ignore"):
            z, _ = self._scale.forward(self._encode_groups(core, labels, for_latents))
            common, own = self._parts(z, labels, parts)
            between = _sample_part(self.between_, self._varies_between, common, for_between)
            within = _sample_part(self.within_, self._varies_within, own, for_within)
            return self._scale.inverse_of_draws(between[labels] + within)

    def _encode_groups(self, core: Array, labels: Indices, rng: np.random.Generator) -> Array:
        """Internal columns, with latents by one draw per group: what is constant there stays so."""
        noise = rng.random((labels.max(initial=0) + 1, self.encoding_.width))[labels]
        return self.encoding_.encode_apart(core, noise)

    def _parts(self, z: Array, labels: Indices, rng: np.random.Generator) -> tuple[Array, Array]:
        """What each group has in common (one row per group), and what is each row's own."""
        noise = rng.standard_normal((labels.max() + 1, z.shape[1]))
        common = self.hierarchy_.draw_common_parts(z, labels, noise)
        # exactly, since rounding would make a column that varies out of one that does not
        common[:, self._constant_within] = group_means(z, labels)[1][:, self._constant_within]
        own = z - common[labels]
        own[:, self._constant_within] = 0.0
        return common, own

    def _fit_part(self, part: Array, seed: int) -> tuple[RowwiseGenerator | None, Flags]:
        """Fit a generator to the columns of a part that vary; None where there are none."""
        varies = (part != part[0]).any(0)
        if not varies.any():
            return None, varies
        model = clone(self.of_rows()).set_params(random_state=seed)
        model.fit_columns(part[:, varies], random_state=seed, **self._columns(varies))
        return model, varies

    def _columns(self, varies: Flags) -> dict[str, Any]:
        """Name the columns of a part, and tell which of them are swapped together."""
        names, units = called(self._names, self.n_features_in_), None
        blocks = self.encoding_.blocks
        if blocks is not None and len(np.unique(blocks)) < len(blocks):
            units = np.unique(_in_order_of_first(blocks)[varies], return_inverse=True)[1]
        of = self.encoding_.unit[varies]
        return {
            "names": [names[j] if j < len(names) else "class of rows" for j in of],
            "units": units,
        }

    @property
    def _draws_latents_apart(self) -> bool:
        return True  # by one draw per group

    def _check_settings(self) -> None:
        if not (self.generator is None or isinstance(self.generator, KnockoffGenerator)):
            raise ValueError(
                f"generator={self.generator!r} is not valid: pass an unfitted generator such as "
                f"DDLK(), or None."
            )
        if self.generator is not None and self.generator.knows_groups:
            raise ValueError(
                "generator is a HierarchicalKnockoffs already: pass the generator for its parts."
            )
        if self.generator is not None and self.generator._handles_discrete:
            raise ValueError(
                f"generator={self.generator!r} describes columns of few values, and the parts of "
                f"rows are numbers. Pass a generator of numbers."
            )
        if self.generator is not None and self.generator.__sklearn_is_fitted__():
            raise ValueError(
                f"generator={self.generator!r} is fitted to rows already, and two others are to "
                f"be fitted to the "
                "parts of rows. Pass an unfitted generator."
            )
        if self.generator is not None and self.generator.has_given_model():
            raise ValueError(
                f"generator={self.generator!r} has a given model of rows, which is not one of "
                f"their parts. Pass a "
                "generator that learns its model."
            )

    def _state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        header: dict[str, Any] = {"default_generator": self.generator is None, "parts": {}}
        arrays: dict[str, NDArray[Any]] = {
            "constant_within": self._constant_within,
            "decimals": self._decimals,
        }
        arrays |= scale_arrays(self._scale)
        arrays |= {f"hierarchy.{name}": array for name, array in asdict(self.hierarchy_).items()}
        parts = (
            ("between", self.between_, self._varies_between),
            ("within", self.within_, self._varies_within),
        )
        for name, model, varies in parts:
            if model is not None:
                own_header, own_arrays = model._model_content()
                header["parts"][name] = {"kind": type(model).__name__, "header": own_header}
                arrays[f"{name}_varies"] = varies
                arrays |= {f"{name}.{key}": array for key, array in own_arrays.items()}
        return header, arrays

    def _restored_part(
        self, name: str, header: dict[str, Any], arrays: dict[str, NDArray[Any]]
    ) -> tuple[RowwiseGenerator | None, Flags]:
        columns = self._modelled_count
        if name not in header["parts"]:
            return None, np.zeros(columns, dtype=bool)
        part = header["parts"][name]
        varies = take_array(arrays, f"{name}_varies", (columns,), "b")
        own_names = [key for key in arrays if key.startswith(f"{name}.")]
        own = {key.removeprefix(f"{name}."): arrays.pop(key) for key in own_names}
        model = _class_called(part["kind"])._with_settings_of(part["header"], own)
        return model.restore_columns(part["header"], own, **self._columns(varies)), varies

    def _restore(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        check_choice("parts", sorted(header["parts"]), ([], ["between"], [*PARTS], ["within"]))
        self.between_, self._varies_between = self._restored_part("between", header, arrays)
        self.within_, self._varies_within = self._restored_part("within", header, arrays)
        if not header["default_generator"]:
            fitted = self.within_ if self.between_ is None else self.between_
            self.generator = clone(fitted).set_params(random_state=None)
        columns = self._modelled_count
        self._scale = restore_scale(arrays, columns)
        shapes = {"mean": (columns,), "between": (columns, columns), "within": (columns, columns)}
        parameters = {
            k: take_array(arrays, f"hierarchy.{k}", s).astype(np.float64) for k, s in shapes.items()
        }
        self.hierarchy_ = Hierarchy(**parameters)
        self.hierarchy_.require_covariances()
        self._constant_within = take_array(arrays, "constant_within", (columns,), "b")
        decimals = take_array(arrays, "decimals", (len(self.schema_),), "i")
        self._decimals = decimals.clip(-1, FINEST_GRID)


def _sample_part(
    model: RowwiseGenerator | None, varies: Flags, part: Array, rng: np.random.Generator
) -> Array:
    """Draw knockoffs of the columns of a part that varied in the fit; others are their own."""
    drawn = part.copy()
    if model is not None:
        drawn[:, varies] = model.sample_columns(part[:, varies], rng)
    return drawn


def _in_order_of_first(labels: Indices) -> Indices:
    """Number labels in the order of their first places."""
    _, first, number = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[number]


def _class_called(kind: Any) -> type[KnockoffGenerator]:
    found = GENERATORS.of_class(kind)
    if found is None:
        raise ValueError(f"{kind!r} is no generator of rows")
    return found
