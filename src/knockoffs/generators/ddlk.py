"""Deep direct likelihood knockoffs."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import Any, Literal, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from knockoffs.density.density import AutoregressiveDensity, Noise
from knockoffs.density.devices import DeviceName, torch_device
from knockoffs.density.hardware import in_chunks
from knockoffs.density.stages import JOINT, fit_knockoff
from knockoffs.density.starts import random_density, start_density
from knockoffs.density.swaps import SWAPS
from knockoffs.density.training import History
from knockoffs.generators.base import RowwiseGenerator
from knockoffs.generators.clusters import knockoff_conditionals
from knockoffs.generators.joint import JointDensity
from knockoffs.generators.joint_model import (
    JointModel,
    NetworkModel,
    NetworkSettings,
    ScaleName,
    Start,
    density_maker,
    fit_joint_model,
    starts_memory,
)
from knockoffs.generators.rows import FitRows, draw_noise
from knockoffs.generators.saved_networks import (
    network_arrays,
    restore_density,
    restore_history,
    training_memory,
)
from knockoffs.generators.swap_pairs import EncodedPairs, SwapDivergence
from knockoffs.generators.views import silence_views, view_knockoffs
from knockoffs.kinds.scales import restore_scale, scale_arrays
from knockoffs.runtime.arrays import Array
from knockoffs.runtime.checks import check_choice, check_count, check_number
from knockoffs.runtime.model_files import take_array
from knockoffs.runtime.progress import progress_bars
from knockoffs.runtime.randomness import RandomState, random_generator, torch_generator


class DDLK(NetworkModel, RowwiseGenerator):
    """Deep direct likelihood knockoffs (Sudarshan, Tansey and Ranganath, 2020).

    Stage 1 fits the density of the covariates, q_joint, by maximum likelihood. Stage 2 fits the
    knockoff density q_knockoff(x̃ | x) by minimising the divergence between [x, x̃] and its
    worst-case swap, minus `entropy` times the conditional entropy of x̃. `DDLK.paper()` gives the
    settings of the paper; the defaults begin at exact knockoffs of a linear-Gaussian model and
    improve on them where that helps on held-out rows. Tables of mostly discrete columns or missing
    cells are learned from in several draws of each row; batches, epochs and steps of stage 2 are
    then twice as large as those that are given, and averages three times as long.

    Parameters
    ----------
    entropy : float, default=0.01
        Weight λ of the conditional entropy. More gives knockoffs further from x, hence power, at
        the cost of validity.
    components : int, default=5
        Mixture components of each conditional, shared out among clusters where there are any.
    hidden : tuple of int, default=(50,)
        Widths of the hidden layers of each column's network.
    start : {"linear", "random"}, default="linear"
        "linear" begins at (clustered) linear-Gaussian models, "random" at random networks.
    scale : {"auto", "standard", "normal"}, default="auto"
        How columns are scaled: to standard units, to smoothed normal scores, or the better of both
        on held-out rows.
    swaps : {"worst", "gumbel", "uniform"}, default="worst"
        "worst" learns the worst-case swap, "gumbel" too, by the paper's straight-through
        Gumbel-Softmax; "uniform" tosses fair coins.
    joint_learning_rate : float, default=6e-3
        Step size for θ, the parameters of q_joint.
    knockoff_learning_rate : float, default=3e-3
        Step size for φ, the parameters of q_knockoff.
    swap_learning_rate : float, default=1e-2
        Step size for β, the log-odds of the worst-case swap.
    joint_epochs : int, default=60
        The most epochs of a phase of stage 1.
    knockoff_epochs : int, default=40
        The most epochs of a phase of stage 2.
    batch_size : int, default=64
        Rows of a mini-batch.
    epoch_steps : int or None, default=32
        Steps after which an epoch ends at the latest, so that the work does not grow with the rows;
        None for whole passes over the rows.
    patience : int, default=6
        Epochs without progress on held-out rows after which a phase ends; half as many while one
        network is learned for all columns.
    averaging : float, default=0.97
        Decay of the running mean of the weights; 0 keeps the last weights.
    validation_fraction : float, default=0.15
        Share of the rows that are held out for early stopping and all choices, at most 5,000 of
        them.
    max_rows : int or None, default=50,000
        The most rows that a fit learns from, drawn at random where there are more; None for all.
        Knockoffs are drawn for any number of rows.
    device : str, torch.device or None, default="auto"
        "cpu", "cuda", "cuda:N", such a `torch.device`, or "auto" (None means the same): CUDA where
        there is such a device, and the CPU otherwise. A model file does not keep it.
    random_state : int, numpy Generator or None, default=None
        Seed; the same seed gives the same knockoffs on the same machine.
    progress : bool, default=False
        Show progress bars.

    Attributes
    ----------
    history_ : list of History
        Losses of every phase, epoch by epoch.
    swap_probability_ : array of float
        How likely the learned worst-case swap is to take each feature, which goes with its group
        where it has one; nan for those that are copied.

    Examples
    --------
    >>> import numpy as np
    >>> from knockoffs import DDLK
    >>> X = np.random.default_rng(0).normal(size=(200, 4))
    >>> # a moment of training
    >>> model = DDLK(hidden=(8,), joint_epochs=1, knockoff_epochs=1, random_state=0).fit(X)
    >>> model.sample(X).shape
    (200, 4)
    """

    name = "ddlk"
    has_densities = True
    needs_torch = True
    swap_probability_: Array

    def __init__(
        self,
        *,
        entropy: float = 0.01,
        components: int = 5,
        hidden: tuple[int, ...] = (50,),
        start: Start = "linear",
        scale: ScaleName = "auto",
        swaps: Literal["worst", "gumbel", "uniform"] = "worst",
        joint_learning_rate: float = 6e-3,
        knockoff_learning_rate: float = 3e-3,
        swap_learning_rate: float = 1e-2,
        joint_epochs: int = 60,
        knockoff_epochs: int = 40,
        batch_size: int = 64,
        epoch_steps: int | None = 32,
        patience: int = 6,
        averaging: float = 0.97,
        validation_fraction: float = 0.15,
        max_rows: int | None = 50_000,
        device: DeviceName = "auto",
        random_state: RandomState = None,
        progress: bool = False,
    ) -> None:
        super().__init__(
            components=components,
            hidden=hidden,
            start=start,
            scale=scale,
            batch_size=batch_size,
            epoch_steps=epoch_steps,
            patience=patience,
            averaging=averaging,
            validation_fraction=validation_fraction,
            max_rows=max_rows,
            device=device,
            random_state=random_state,
            progress=progress,
        )
        self.entropy = entropy
        self.swaps = swaps
        self.joint_learning_rate = joint_learning_rate
        self.knockoff_learning_rate = knockoff_learning_rate
        self.swap_learning_rate = swap_learning_rate
        self.joint_epochs = joint_epochs
        self.knockoff_epochs = knockoff_epochs

    @classmethod
    def paper(cls, **overrides: Any) -> Self:
        """The settings of the paper's appendix: random networks with evenly spaced modes,
        no averaging.
        """
        settings: dict[str, Any] = {
            "entropy": 0.1,
            "hidden": (50, 50, 50),
            "start": "random",
            "scale": "standard",
            "swaps": "gumbel",
            "joint_learning_rate": 5e-4,
            "knockoff_learning_rate": 1e-3,
            "swap_learning_rate": 1e-2,
            "joint_epochs": 50,
            "knockoff_epochs": 250,
            "batch_size": 64,
            "epoch_steps": None,
            "patience": 10,
            "averaging": 0.0,
            "max_rows": None,
        }
        return cls(**(settings | overrides))

    def log_prob(self, X: Any, X_tilde: Any) -> Array:
        """log q(x̃ | x) of each row, in the units of the data.

        Of discrete columns and missing cells it is the density of latents in the middle of their
        intervals.
        """
        z, z_tilde = self._middles(X), self._middles(X_tilde)
        if len(z) != len(z_tilde):
            raise ValueError(
                f"X has {len(z)} rows, X_tilde {len(z_tilde)}: pass one knockoff for each row."
            )
        x, _ = self._joint.to_scale(z)
        x_tilde, log_slope = self._joint.to_scale(z_tilde)
        log_prob = in_chunks(self._knockoff.log_prob, x_tilde, x)
        return log_prob.cpu().double().add(log_slope).numpy()

    def joint_log_prob(self, X: Any) -> Array:
        """log q(x) of each row, in the units of the data (discrete columns as in `log_prob`)."""
        z = self._middles(X)
        return self._joint.log_prob(z)

    def joint_density(self) -> JointDensity:
        """Return q_joint as an estimator of its own: conditionals of features,
        samples and scores of rows.

        It shares the networks with this generator, so that one fit serves knockoffs and
        randomisation tests.
        """
        check_is_fitted(self)
        settings = {
            name: value
            for name, value in self.get_params().items()
            if name in JointDensity().get_params()
        }
        settings |= {"learning_rate": self.joint_learning_rate, "epochs": self.joint_epochs}
        return JointDensity(**settings).with_model_of(self, self._joint)

    def swap_pairs(self, X: Any, random_state: RandomState = None) -> EncodedPairs:
        """Draw the internal columns of the rows of X and of their knockoffs, with their density."""
        rng = random_generator(
            self.random_state if random_state is None else random_state, stream=1
        )
        z, z_tilde = self._draw(self._read(X).codes, rng)
        self._require_finite_draws(z_tilde)
        return self._pairs(*(self._joint.to_scale(own)[0] for own in (z, z_tilde)))

    def _pairs(self, x: torch.Tensor, x_tilde: torch.Tensor) -> EncodedPairs:
        """Return internal columns on the scale of the networks with their density."""
        unit = self.encoding_.unit
        unit = np.where(unit < self.n_features_in_, unit, -1)

        def log_prob(x: Array, x_tilde: Array) -> Array:
            rows = (
                torch.as_tensor(own, device=self._knockoff.weight.device) for own in (x, x_tilde)
            )
            return in_chunks(self._log_pair, *rows).cpu().double().numpy()

        return EncodedPairs(x.cpu().numpy(), x_tilde.cpu().numpy(), unit, log_prob)

    def _log_pair(self, x: torch.Tensor, x_tilde: torch.Tensor) -> torch.Tensor:
        """Return log q_joint(x) + log q_knockoff(x̃ | x) on the scale of the networks."""
        return self._joint.density.log_prob(x) + self._knockoff.log_prob(x_tilde, x)

    def swap_divergence(
        self, X: Any, *, n_swaps: int = 4, random_state: RandomState = None
    ) -> SwapDivergence:
        """How far the model's [x, x̃] is from swap-invariance on the rows of X, by its own q_joint.

        The mean over `n_swaps` random swaps per row, each feature by the toss of a fair coin. Use
        rows that the model was not fitted on. It cannot see an error of q_joint itself.
        """
        codes = self._read(X).codes
        check_count("n_swaps", n_swaps)
        rng = random_generator(
            self.random_state if random_state is None else random_state, stream=2
        )
        x, _ = self._joint.to_scale(self.encoding_.encode(codes, rng))
        unit, losses = self._swapped_units().numpy(), []
        for draw in rng.spawn(n_swaps):
            pairs = self._pairs(x, self._drawn(x, draw))
            coins = draw.random((len(x), int(unit.max()) + 1)) < 0.5
            losses.append(pairs.log_density - pairs.swapped_log_density(coins[:, unit]))
        per_row = np.mean(losses, axis=0)
        return SwapDivergence(
            float(per_row.mean()), float(per_row.std(ddof=1) / np.sqrt(len(per_row)))
        )

    def _check_settings(self) -> None:
        self._settings(self.joint_learning_rate, self.joint_epochs).check(stage="joint_")
        self._settings(self.knockoff_learning_rate, self.knockoff_epochs).check(stage="knockoff_")
        check_number("entropy", self.entropy, least=0)
        check_choice("swaps", self.swaps, tuple(SWAPS))
        check_number("swap_learning_rate", self.swap_learning_rate, least=0)
        super()._check_settings()

    def _fit_memory(self, rows: int, columns: int) -> float:
        settings = self._settings(self.joint_learning_rate, self.joint_epochs)
        starts = starts_memory(settings, self.scale, rows, columns)
        if torch_device(self.device).type != "cpu":
            return starts  # the networks are not in the memory of the machine
        joint = density_maker(settings, columns, context=0, seen=2)
        knockoff = density_maker(settings, columns, context=columns, seen=3)
        return max(starts, training_memory(joint, knockoff))

    def _fit(self, core: Array, rng: np.random.Generator) -> None:
        device = torch_device(self.device)
        rows = FitRows.split(core, self.validation_fraction, rng)
        with progress_bars(self.progress):
            self._joint = fit_joint_model(
                rows,
                settings=self._settings(
                    self.joint_learning_rate, self.joint_epochs, rows.several_draws
                ),
                scale=self.scale,
                device=device,
                rng=rng,
            )
            history = self._fit_knockoff(rows, rng)
        self.history_ = self._joint.history + history

    def _fit_knockoff(self, rows: FitRows, rng: np.random.Generator) -> list[History]:
        z, held_out = (self._joint.to_scale(some)[0] for some in (rows.drawn, rows.held_out))
        settings = self._settings(
            self.knockoff_learning_rate, self.knockoff_epochs, rows.several_draws
        )
        if rows.several_draws:
            settings = settings.with_longer_epochs()
        self._knockoff = self._begin_knockoff(z, settings, rng).to(z.device)
        unit = self._swapped_units()
        swaps = SWAPS[self.swaps](unit).to(z.device)
        history = fit_knockoff(
            self._joint.density,
            self._knockoff,
            swaps,
            z,
            held_out,
            entropy=float(self.entropy),
            swap_learning_rate=self.swap_learning_rate,
            phases=settings.phases(),
            generator=torch_generator(rng, z.device),
            before=self._joint.history,
        )
        # of internal columns
        probability = swaps.probability().detach().cpu().numpy()[unit.cpu().numpy()]
        first = np.unique(self.encoding_.unit, return_index=True)[1]  # contexts come behind
        self.swap_probability_ = self._of_features(probability[first[: self.modelled_.sum()]])
        return history

    def _swapped_units(self) -> torch.Tensor:
        """The number of the unit of each internal column, counting units that have any."""
        return torch.as_tensor(np.unique(self.encoding_.swap_unit, return_inverse=True)[1])

    def _of_features(self, values: Array) -> Array:
        """Numbers of all features from those of the features that have internal columns;
        nan for the others.
        """
        found = np.full(self.n_features_in_, np.nan, dtype=values.dtype)
        found[self.modelled_] = values
        return found

    def _begin_knockoff(
        self, z: torch.Tensor, settings: NetworkSettings, rng: np.random.Generator
    ) -> AutoregressiveDensity:
        options: dict[str, Any] = {
            "components": self.components,
            "hidden": self.hidden,
            "generator": torch_generator(rng, torch.device("cpu")),
        }
        if self._joint.linear is None:
            z = z.cpu()
            return random_density(z.amin(0), z.amax(0), context=z.shape[1], **options)
        plain = knockoff_conditionals(self._joint.linear, self.encoding_.blocks)
        start = view_knockoffs(plain, self._joint.linear, z) if settings.several_draws else plain
        return silence_views(start_density(start, **options), plain)

    def _sample(self, core: Array, rng: np.random.Generator) -> Array:
        x, _ = self._joint.to_scale(core)
        return self._joint.from_scale(self._drawn(x, rng))

    def _drawn(self, x: torch.Tensor, rng: np.random.Generator) -> torch.Tensor:
        """Draw knockoffs on the scale of the networks."""
        noise = draw_noise(rng, len(x), self._knockoff)
        return in_chunks(lambda x, *noise: self._knockoff.sample(Noise(*noise), x), x, *noise)

    def _state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        networks = {"joint": self._joint.density, "knockoff": self._knockoff}
        arrays = {"swap_probability": self.swap_probability_[self.modelled_]} | scale_arrays(
            self._joint.scale
        )
        for name, network in networks.items():
            arrays |= network_arrays(name, network)
        shapes = {name: network.shape() for name, network in networks.items()}
        return {"networks": shapes, "history": [asdict(h) for h in self.history_]}, arrays

    def _restore(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        columns = self._modelled_count
        density = partial(
            restore_density, arrays=arrays, features=columns, device=torch_device(self.device)
        )
        shapes = header["networks"]
        self.history_ = restore_history(header["history"])
        joint = density(shapes["joint"], "joint", context=0)
        history = [phase for phase in self.history_ if phase.stage.startswith(JOINT)]
        self._joint = JointModel(
            restore_scale(arrays, columns).converted(torch.as_tensor), joint, None, history
        )
        self._knockoff = density(shapes["knockoff"], "knockoff", context=columns)
        modelled = int(self.modelled_.sum())
        self.swap_probability_ = self._of_features(
            take_array(arrays, "swap_probability", (modelled,))
        )
