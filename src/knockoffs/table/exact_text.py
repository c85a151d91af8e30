"""What stays exact where a file is read: codes such as 035, and whole numbers of many digits."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Collection
from typing import Any

import numpy as np
import pandas as pd

from knockoffs.runtime.arrays import LARGEST_WHOLE
from knockoffs.table.problems import too_many_levels

_ZERO_FIRST = re.compile(r"(?<![\w.])0\d")
_DIGITS = re.compile(r"[0-9]{3,}")  # months, hours and ages of two digits are quantities


def are_codes(column: pd.Series[Any]) -> bool:
    """Return whether a column of text holds codes: some begin with a zero, and all are of one length.

    They have three digits or more. More different ones than categories can have are numbers that a program has
    padded, or identifiers.
    """
    if pd.api.types.is_numeric_dtype(column):
        return False
    texts = column.dropna().astype(str).drop_duplicates()
    return (
        bool(texts.str.startswith("0").any())
        and bool(texts.map(_DIGITS.fullmatch).notna().all())
        and texts.str.len().nunique() == 1
        and not too_many_levels(len(texts), int(column.notna().sum()))
    )


def with_codes(
    frame: pd.DataFrame, text: str, read: Callable[..., pd.DataFrame], *, numbers: Collection[str] = ()
) -> pd.DataFrame:
    """Return the table of a text file with codes as text, which pandas has read as numbers.

    Parameters
    ----------
    frame : DataFrame
        The table as pandas reads it.
    text : str
        The content of the file.
    read : callable
        What reads it, as `pandas.read_csv`.
    numbers : collection of str, default=()
        Columns that stay numbers.
    """
    if not _ZERO_FIRST.search(text):
        return frame
    whole = [j for j, name in enumerate(frame.columns) if name not in numbers and _whole(frame.iloc[:, j])]
    if whole:
        texts = read(io.StringIO(text), usecols=whole, dtype=str)
        for name in texts.columns:
            if are_codes(texts[name]):
                frame[name] = texts[name]
    return frame


def _whole(column: pd.Series[Any]) -> bool:
    if pd.api.types.is_integer_dtype(column):
        return True
    present = column.dropna() if pd.api.types.is_float_dtype(column) else column[:0]
    return len(present) > 0 and bool(np.isfinite(present).all()) and bool((present % 1 == 0).all())


def as_numbers(frame: pd.DataFrame, columns: Collection[str]) -> pd.DataFrame:
    """Return the table with the codes of some columns as numbers: 7 where another table has it instead of 007."""
    found = frame.copy(deep=False)
    for name in columns:
        if name in frame.columns and are_codes(frame[name]):
            found[name] = pd.to_numeric(frame[name])
    return found


def as_text(frame: pd.DataFrame, columns: Collection[str]) -> pd.DataFrame:
    """Return the table with whole numbers of some columns as text: 401 where another table has 035 beside it."""
    found = frame.copy(deep=False)
    for name in columns:
        if name in frame.columns and not pd.api.types.is_bool_dtype(frame[name]) and _whole(frame[name]):
            found[name] = frame[name].astype("Int64").astype("string").astype(object)
    return found


_WHOLE = re.compile(r"[-+]?[0-9]+")


def with_long_numbers(frame: pd.DataFrame, text: str, read: Callable[..., pd.DataFrame]) -> pd.DataFrame:
    """Return the table of a text file with whole numbers exact that pandas has read as floats.

    `read` reads the text as `pandas.read_csv` does, as it has read the table.
    """
    rounded = [j for j in range(frame.shape[1]) if _may_be_rounded(frame.iloc[:, j])]
    if rounded:
        texts = read(io.StringIO(text), usecols=rounded, dtype=str)
        for name in texts.columns:
            frame[name] = exact_numbers(texts[name], frame[name])
    return frame


def exact_numbers(texts: pd.Series[Any], numbers: pd.Series[Any]) -> pd.Series[Any]:
    """Return the numbers of a column of text, as integers where they are whole and floats have rounded them.

    Those that no integer type holds stay text, as pandas leaves them.
    """
    if not _may_be_rounded(numbers):
        return numbers
    present = texts.notna()
    cells = texts[present].astype(str).str.strip()
    if not all(map(_WHOLE.fullmatch, cells)):
        return numbers
    whole = [int(cell) for cell in cells]
    if all(int(float(value)) == value for value in whole):
        return numbers
    if max(map(abs, whole)) > np.iinfo(np.int64).max:
        return texts
    exact = np.zeros(len(texts), dtype=np.int64)  # not by assignment to a column, where pandas rounds as well
    exact[present] = whole
    return pd.Series(pd.arrays.IntegerArray(exact, ~present.to_numpy()), index=texts.index, name=texts.name)


def _may_be_rounded(numbers: pd.Series[Any]) -> bool:
    return pd.api.types.is_float_dtype(numbers) and bool((np.abs(numbers) > LARGEST_WHOLE).any())
