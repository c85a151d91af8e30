"""Selected columns with the types that they have in the table."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags, check_array
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import validate_data


class TypedSelectorMixin(SelectorMixin):
    """A selector of columns by a target, with missing cells or without, that keeps types,
    also those of polars.

    scikit-learn keeps the types of pandas columns where `set_output` asks for tables, but makes one
    array of the columns of a polars table, which turns those of several types into objects. Where
    an array is asked for, it makes one of all columns before it chooses: the selected numbers
    become objects where another column is text.
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
            An array, or the table that `set_output` asks for, such as
            `set_output(transform="pandas")`: its columns keep their types.
        """
        frame = (
            None
            if isinstance(X, pd.DataFrame)
            else nw.from_native(X, eager_only=True, pass_through=True)
        )
        if frame is not None and not isinstance(frame, nw.DataFrame):
            return super().transform(X)
        as_table = _get_output_config("transform", estimator=self)["dense"] != "default"
        validate_data(self, X, skip_check_array=True, reset=False)
        if frame is None:
            chosen = self._transform(X)
            return chosen if as_table else _as_array(_of_plain_types(chosen), len(X))
        names = [frame.columns[j] for j in np.flatnonzero(self.get_support())]
        if not names:  # a table without columns would have no rows
            return np.empty((len(frame), 0))
        chosen = frame.select(names).to_native()
        return (
            chosen
            if as_table and frame.implementation.is_polars()
            else _as_array(chosen, len(frame))
        )


def _of_plain_types(frame: pd.DataFrame) -> pd.DataFrame:
    """The table without types that scikit-learn misreads: of text of pyarrow it would make numbers.

    Columns that are all sparse stay so, as a sparse matrix, which leaves out zeros and no other
    value.
    """
    stay_sparse = all(
        isinstance(dtype, pd.SparseDtype) and dtype.fill_value == 0 for dtype in frame.dtypes
    )
    plain = frame.copy(deep=False)
    for j, dtype in enumerate(frame.dtypes):
        column: Any = frame.iloc[:, j]
        if isinstance(dtype, pd.SparseDtype) and not stay_sparse:
            plain.isetitem(j, column.sparse.to_dense())
        elif not pd.api.types.is_numeric_dtype(dtype):
            plain.isetitem(j, column.astype(object))
    return plain


def _as_array(table: Any, rows: int) -> Any:
    """An array of the selected columns: of numbers where all of them are numbers."""
    if table.shape[1] == 0:  # tables without columns have no type, and some have no rows either
        return np.empty((rows, 0))
    return check_array(
        table, dtype=None, accept_sparse="csr", ensure_all_finite=False, ensure_min_features=0
    )
