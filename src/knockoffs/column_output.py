"""Selected columns with the types that they have in the table."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import validate_data


class TypedSelectorMixin(SelectorMixin):
    """A selector of columns by a target, with missing cells or without, that keeps types, also those of polars.

    scikit-learn keeps the types of pandas columns where `set_output` asks for tables, but makes one array of the
    columns of a polars table, which turns those of several types into objects.
    """

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        return tags

    def transform(self, X: Any) -> Any:
        """Reduce X to the selected features.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            A table with the columns of the fit.

        Returns
        -------
        array or table of shape (n_rows, n_selected_features)
            An array, or the table that `set_output` asks for.
        """
        frame = nw.from_native(X, eager_only=True, pass_through=True)
        as_table = _get_output_config("transform", estimator=self)["dense"] != "default"
        if not as_table or not isinstance(frame, nw.DataFrame) or not frame.implementation.is_polars():
            return super().transform(X)
        validate_data(self, X, skip_check_array=True, reset=False)
        chosen = [frame.columns[j] for j in np.flatnonzero(self.get_support())]
        return frame.select(chosen).to_native()
