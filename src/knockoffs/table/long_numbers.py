"""Whole numbers of more digits than floats hold, such as identifiers, which stay exact beside missing cells."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from knockoffs.runtime.arrays import LARGEST_WHOLE

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
