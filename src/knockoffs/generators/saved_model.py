"""What all models of tables share: `save` and `load`."""

from __future__ import annotations

import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from knockoffs.generators.saved_table import restore_table, table_state
from knockoffs.generators.table_model import TableModel
from knockoffs.runtime.checks import check_choice
from knockoffs.runtime.model_files import read_model, refuse_damaged, write_model
from knockoffs.runtime.randomness import random_generator
from knockoffs.schema.schema import FeatureGroups
from knockoffs.schema.words import listing
from knockoffs.table.table import Table


class SavedModel(TableModel, ABC):
    """A model of a table that can be saved: subclasses write `_check_settings`,
    `_state` and `_restore`.
    """

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file (safetensors with a JSON header)."""
        header, arrays = self._content()
        write_model(path, type(self).__name__, header, arrays)

    def _content(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the header and the arrays of a model file."""
        check_is_fitted(self)
        header, arrays = self._model_content()
        table, table_arrays = table_state(self)
        return header | {"table": table}, arrays | table_arrays

    def _model_content(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return what describes the model but for the table that it was fitted to."""
        header, arrays = self._state()
        params = {k: v for k, v in self.get_params(deep=False).items() if k not in _NOT_SAVED}
        arrays |= {
            f"param.{k}": np.asarray(params.pop(k)) for k in [*params] if _is_array(params[k])
        }
        seed = self.random_state if isinstance(self.random_state, (int, np.integer)) else None
        header |= {"params": params | {"random_state": None if seed is None else int(seed)}}
        return header, arrays

    @classmethod
    def load(cls, path: str | os.PathLike[str], **overrides: Any) -> Self:
        """Read a model that `.save` wrote; `overrides` replace settings (the device is `"auto"`
        without one).

        A file that is damaged, or not of this class, raises a ModelFileError.
        """
        for name in overrides:
            check_choice(name, name, tuple(cls().get_params()))
        header, arrays = read_model(path, cls.__name__)
        with refuse_damaged(path):
            model = cls._with_settings_of(header, arrays)
        model.set_params(**overrides)._check_settings()
        with refuse_damaged(path), with_gradients():
            return model._restored(header, arrays)

    def _restored(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        """Give a model with its settings all that `_content` described."""
        restore_table(self, header["table"], arrays)
        self._restore_model(header, arrays)
        self._fitted = True
        return self

    def _restore_model(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Give a model all that `_model_content` described, and refuse what is left over."""
        self._restore(header, arrays)
        if arrays:
            raise ValueError(
                f"it has arrays that belong to no {type(self).__name__}: {listing(sorted(arrays))}"
            )

    @classmethod
    def _with_settings_of(cls, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        params = {k: tuple(v) if isinstance(v, list) else v for k, v in header["params"].items()}
        params |= {
            k.removeprefix("param."): arrays.pop(k) for k in [*arrays] if k.startswith("param.")
        }
        model = cls(**params)
        model._check_settings()
        random_generator(model.random_state)  # raises an error for what is no seed
        return model

    def _begin_fit(
        self, X: Any, kinds: Mapping[Any, str] | None, feature_groups: FeatureGroups = None
    ) -> tuple[Table, np.random.Generator]:
        """Return the table of a fit and its random generator;
        the model counts as fitted at the end alone.
        """
        self._check_settings()
        rng = random_generator(self.random_state)
        self._fitted = False
        return self._read_for_fit(X, kinds, feature_groups), rng

    @abstractmethod
    def _check_settings(self) -> None:
        """Raise an error for arguments that are out of range."""

    @abstractmethod
    def _state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]: ...

    @abstractmethod
    def _restore(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None: ...


def _is_array(value: Any) -> bool:
    return hasattr(value, "__array__") and not isinstance(value, np.generic)


# A model file has no use for these: the device is that of another machine, and a given model or
# generator is what was fitted.
_NOT_SAVED = ("random_state", "model", "generator", "device")


def with_gradients() -> AbstractContextManager[Any]:
    """Allow gradients, even if the caller has switched them off; without torch nobody has."""
    torch = sys.modules.get("torch")
    return nullcontext() if torch is None else torch.inference_mode(mode=False)
