"""Hidden Markov model knockoffs: columns in an order, such as along a chromosome or in time."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from knockoffs.generators.base import RowwiseGenerator
from knockoffs.generators.compared.hmm_model import CategoricalEmissions, HiddenMarkovModel, fit_hmm
from knockoffs.generators.markov import markov_knockoffs
from knockoffs.runtime.arrays import Array
from knockoffs.runtime.checks import check_choice, check_count
from knockoffs.runtime.memory import FLOAT64
from knockoffs.runtime.randomness import RandomState
from knockoffs.runtime.typed_json import as_type
from knockoffs.schema.words import column_name

Emissions = Literal["gaussian", "categorical"]
MOST_VALUES = 50


class HMMKnockoffs(RowwiseGenerator):
    """Hidden Markov model knockoffs (Sesia, Sabatti and Candès 2017).

    Columns are places along a chain of hidden states, in their order in the table. A row's states
    are drawn from their posterior (forward filtering, backward sampling), a knockoff of that Markov
    chain is drawn state by state, and the knockoff row from the emissions of the knockoff states.
    Exact where the rows follow the model.

    Parameters
    ----------
    states : int, default=5
        Number of hidden states.
    emissions : {"gaussian", "categorical"}, default="gaussian"
        What a state emits: a number, or one of few values such as genotypes 0, 1, 2.
    iterations : int, default=100
        The most iterations of the EM algorithm.
    model : HiddenMarkovModel, default=None
        The model itself where it is known, for tables without constant or duplicated columns;
        categorical codes count the values of a column in ascending order.
    random_state : int, numpy Generator or None, default=None
        Seed; the same seed gives the same knockoffs on the same machine.

    Attributes
    ----------
    model_ : HiddenMarkovModel
        The model used.
    log_likelihood_ : list of float
        Mean log-likelihood per row after each iteration.

    Examples
    --------
    >>> import numpy as np
    >>> from knockoffs import HMMKnockoffs
    >>> X = np.random.default_rng(0).normal(size=(100, 6))
    >>> model = HMMKnockoffs(states=2, iterations=3, random_state=0).fit(X)
    >>> model.sample(X).shape
    (100, 6)
    """

    name = "hmm"

    def __init__(
        self,
        states: int = 5,
        emissions: Emissions = "gaussian",
        *,
        iterations: int = 100,
        model: HiddenMarkovModel | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.states = states
        self.emissions = emissions
        self.iterations = iterations
        self.model = model
        self.random_state = random_state

    @property
    def _handles_discrete(self) -> bool:
        return self.emissions == "categorical"

    def has_given_model(self) -> bool:
        return self.model is not None

    def _check_settings(self) -> None:
        check_count("states", self.states)
        check_count("iterations", self.iterations)
        check_choice("emissions", self.emissions, get_args(Emissions))

    def _fit(self, core: Array, rng: np.random.Generator) -> None:
        self._require_few_values()
        self.log_likelihood_: list[float] = []
        if self.model is not None:
            self._require_fitting_model(self.model)
            self.model_ = self.model
            return
        values = int(core.max()) + 1 if self._handles_discrete else None
        self.model_, self.log_likelihood_ = fit_hmm(
            core, self.states, values, iterations=self.iterations, rng=rng
        )

    def _fit_memory(self, rows: int, columns: int) -> float:
        # For each cell and state: log-likelihoods, filtered and smoothed probabilities, and what
        # they come from.
        return FLOAT64 * columns * (8 * rows * self.states + 6 * self.states**2)

    def _sample(self, core: Array, rng: np.random.Generator) -> Array:
        for_states, for_chain, for_emissions = rng.spawn(3)
        z = self.model_.draw_states(core, for_states.random(core.shape))
        z_tilde = markov_knockoffs(
            self.model_.initial, self.model_.transitions, z, for_chain.random(core.shape)
        )
        return self.model_.emissions.draw(z_tilde, for_emissions).astype(np.float64)

    def _require_few_values(self) -> None:
        for j, unit in enumerate(self.encoding_.units):
            if unit.states > MOST_VALUES:
                raise ValueError(
                    f"{column_name(self._names, j)} has more than {MOST_VALUES} values, too many "
                    f"for "
                    'emissions="categorical". Pass emissions="gaussian".'
                )

    def _require_fitting_model(self, model: HiddenMarkovModel) -> None:
        places = self._modelled_count
        categorical = isinstance(model.emissions, CategoricalEmissions)
        if len(model.transitions) != places - 1 or categorical != self._handles_discrete:
            raise ValueError(
                f"model has {len(model.transitions) + 1} places with "
                f"{type(model.emissions).__name__}; the table "
                f"has {places} columns that vary and differ; emissions={self.emissions!r}. Pass a "
                f"model that fits."
            )
        model.require_distributions()
        if isinstance(model.emissions, CategoricalEmissions):
            self._require_same_values(model.emissions)

    def _require_same_values(self, emissions: CategoricalEmissions) -> None:
        """Codes count the values seen, so a value that the table lacks would shift them."""
        for chance, j in zip(emissions.chance, self.encoding_.unit, strict=True):
            count = self.encoding_.units[j].states
            if (
                chance.shape[1] < count
                or chance[:, count:].any()
                or not chance[:, :count].any(0).all()
            ):
                place = np.flatnonzero(self.encoding_.unit == j)[0] + 1
                raise ValueError(
                    f"model has {np.count_nonzero(chance.any(0))} values at place {place}, "
                    f"{column_name(self._names, j)} has {count}. "
                    "Fit on rows with all values of the model, or pass a model of the values in "
                    "the table."
                )

    def _state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        return {"log_likelihood": self.log_likelihood_}, self.model_.arrays()

    def _restore(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        self.log_likelihood_ = as_type(list[float], header["log_likelihood"], "log_likelihood")
        self.model_ = HiddenMarkovModel.from_arrays(arrays, places=self._modelled_count)
        self._require_fitting_model(self.model_)
