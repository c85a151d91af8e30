"""Data whose truth is known: simulated responses and patients, and columns that tell nothing."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import norm

from knockoffs.runtime.arrays import Array, Flags
from knockoffs.runtime.checks import check_count
from knockoffs.runtime.randomness import RandomState, random_generator

NULL = "null "
# Median and spread on the logarithmic scale, and the share of patients for whom it was not
# measured.
LABORATORY = {
    "creatinine": (90.0, 0.4, 0.0),
    "urea": (6.0, 0.4, 0.1),
    "sodium": (139.0, 0.03, 0.0),
    "potassium": (4.1, 0.1, 0.0),
    "albumin": (38.0, 0.15, 0.2),
    "bilirubin": (10.0, 0.6, 0.2),
    "alt": (25.0, 0.6, 0.2),
    "alp": (75.0, 0.4, 0.0),
    "crp": (12.0, 1.0, 0.1),
    "glucose": (6.0, 0.3, 0.0),
    "lactate": (1.3, 0.5, 0.3),
    "haemoglobin": (135.0, 0.13, 0.0),
    "platelets": (240.0, 0.3, 0.0),
    "leukocytes": (8.0, 0.4, 0.0),
    "lymphocytes": (1.7, 0.5, 0.1),
    "troponin": (9.0, 1.0, 0.3),
    "ferritin": (120.0, 0.9, 0.3),
    "tsh": (1.8, 0.5, 0.3),
    "vitamin d": (55.0, 0.4, 0.0),
    "cholesterol": (5.0, 0.2, 0.1),
    "temperature": (37.0, 0.015, 0.0),
    "heart rate": (78.0, 0.2, 0.0),
    "systolic": (130.0, 0.13, 0.0),
    "diastolic": (77.0, 0.14, 0.0),
    "breathing rate": (16.0, 0.2, 0.0),
    "oxygen": (96.0, 0.02, 0.0),
}
LEVELS = {
    "sex": ("female", "male"),
    "ward": ("cardiac", "medical", "surgical", "geriatric"),
    "admission": ("planned", "emergency"),
    "smoker": ("never", "former", "current"),
}
COUNTS = ("age", "pain", "falls", "earlier stays", "drugs", "weight")
EFFECTS = {
    "age": 1.0,
    "ward": 1.2,
    "admission": 1.0,
    "pain": 0.8,
    "drugs": 0.8,
    "creatinine": 0.9,
    "albumin": -1.0,
    "crp": 1.0,
    "lactate": 1.0,
    "haemoglobin": -0.9,
    "leukocytes": 0.8,
    "heart rate": 0.8,
    "systolic": -0.8,
    "oxygen": -1.0,
}


class Response(NamedTuple):
    """A simulated response and its truth.

    Attributes
    ----------
    y : array of float
        The response.
    relevant : array of bool
        Which columns of x it depends on.
    """

    y: Array
    relevant: Flags


def linear_response(
    x: Array, *, relevant: int = 20, amplitude: float = 100.0, random_state: RandomState = None
) -> Response:
    r"""Simulate the paper's $y \mid x \sim \mathcal N(\langle x, \alpha\rangle, 1)$.

    Parameters
    ----------
    x : array of shape (n_rows, n_features)
        The features.
    relevant : int, default=20
        Number of columns, chosen at random, with $\alpha_j = \pm \text{amplitude} / \sqrt N$; the
        others have 0.
    amplitude : float, default=100.0
        Size of the coefficients.
    random_state : int, numpy Generator or None, default=None
        Seed.

    Returns
    -------
    Response
        `y` and `relevant`.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(50, 30))
    >>> linear_response(x, relevant=5, random_state=0).relevant.sum()
    np.int64(5)
    """
    check_count("relevant", relevant)
    rng = random_generator(random_state, stream=3)
    rows, features = x.shape
    chosen = rng.permutation(features) < relevant
    alpha = (
        np.where(chosen, rng.choice([-1.0, 1.0], size=features), 0.0) * amplitude / np.sqrt(rows)
    )
    return Response(x @ alpha + rng.standard_normal(rows), chosen)


def liang_response(x: Array, *, relevant: int = 20, random_state: RandomState = None) -> Response:
    """Simulate the paper's non-linear response: lines, products and hyperbolic tangents.

    It is that of Liang et al. (2018).

    Parameters
    ----------
    x : array of shape (n_rows, n_features)
        The features.
    relevant : int, default=20
        Number of relevant columns, the first ones; a multiple of 4.
    random_state : int, numpy Generator or None, default=None
        Seed.

    Returns
    -------
    Response
        `y` and `relevant`.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(50, 30))
    >>> liang_response(x, relevant=8, random_state=0).relevant.sum()
    np.int64(8)
    """
    if relevant % 4 or not 0 < relevant <= x.shape[1]:
        raise ValueError(
            f"relevant={relevant} is not valid: pass a multiple of 4 of at most {x.shape[1]}."
        )
    rng = random_generator(random_state, stream=3)
    groups = relevant // 4
    one, two = rng.normal(1, 1, size=(2, groups))
    three, four, five, six = rng.normal(2, 1, size=(4, groups))
    a, b, c, d = (x[:, k:relevant:4] for k in range(4))
    signal = one * a + three * b + four * a * b + five * np.tanh(two * c + six * d)
    return Response(signal.sum(1) + rng.standard_normal(len(x)), np.arange(x.shape[1]) < relevant)


def add_null_columns(X: pd.DataFrame, random_state: RandomState = None) -> pd.DataFrame:
    """Return X, and beside it a copy of X whose rows are shuffled as wholes.

    The copies (named "null …") depend on each other as the features do, and on nothing else:
    selecting one is certainly a false discovery.

    Parameters
    ----------
    X : DataFrame
        The features.
    random_state : int, numpy Generator or None, default=None
        Seed of the shuffle.

    Returns
    -------
    DataFrame
        Twice as many columns.

    Examples
    --------
    >>> patients = pd.DataFrame({"age": [30, 40], "dose": [1, 2]})
    >>> add_null_columns(patients, random_state=0).columns.tolist()
    ['age', 'dose', 'null age', 'null dose']
    """
    order = random_generator(random_state, stream=5).permutation(len(X))
    copies = (
        X.iloc[order].set_axis([f"{NULL}{name}" for name in X.columns], axis=1).set_axis(X.index)
    )
    return pd.concat([X, copies], axis=1)


def is_null(name: Any) -> bool:
    """Return whether a column is one that `add_null_columns` added, by its name."""
    return str(name).startswith(NULL)


class Patients(NamedTuple):
    """The simulated patients.

    Attributes
    ----------
    X : DataFrame
        The features.
    y : Series
        The response.
    relevant : array of bool
        Which features the response depends on.
    """

    X: pd.DataFrame
    y: pd.Series
    relevant: Flags


def make_patients(rows: int = 1000, random_state: RandomState = None) -> Patients:
    """Simulate a hospital's table of mixed types with gaps, of which 14 of 36 columns matter.

    All columns depend on each other. The response, days in hospital, depends on the cells of the
    relevant columns as they are seen (a missing cell adds nothing), so every other column is
    irrelevant given these, and selecting it is a false discovery.

    Parameters
    ----------
    rows : int, default=1000
        Number of patients.
    random_state : int, numpy Generator or None, default=None
        Seed.

    Returns
    -------
    Patients
        `X`, `y` and `relevant`.

    Examples
    --------
    >>> X, y, relevant = make_patients(rows=200, random_state=0)
    >>> X.shape, int(relevant.sum()), y.name
    ((200, 36), 14, 'days')
    """
    check_count("rows", rows)
    rng = random_generator(random_state, stream=7)
    names = [*COUNTS, *LEVELS, *LABORATORY]
    frailty = rng.standard_normal((rows, 1))  # what makes all columns depend on each other
    latent = rng.standard_normal((rows, len(names)))
    for j in range(1, len(names)):
        latent[:, j] = 0.5 * latent[:, j - 1] + np.sqrt(0.75) * latent[:, j]
    latent = 0.4 * frailty + np.sqrt(1 - 0.4**2) * latent
    X = pd.DataFrame({name: _cells(name, latent[:, j], rng) for j, name in enumerate(names)})
    days = sum(
        effect * _seen(X[name]) for name, effect in EFFECTS.items()
    ) + 1.5 * rng.standard_normal(rows)
    y = pd.Series(np.round(12 + days, 1), index=X.index, name="days")
    return Patients(X, y, np.isin(names, list(EFFECTS)))


def _cells(name: str, latent: Array, rng: np.random.Generator) -> pd.Series:
    """The cells of a column, some of them missing, from a standard normal number per patient."""
    if name in LABORATORY:
        median, spread, missing = LABORATORY[name]
        value = median * np.exp(spread * latent)
        value = np.array([float(f"{cell:.4g}") for cell in value])
        return pd.Series(np.where(rng.random(len(latent)) < missing, np.nan, value))
    share = norm.cdf(latent)
    if name in LEVELS:
        levels = np.array(LEVELS[name], dtype=object)
        return pd.Series(levels[np.minimum((share * len(levels)).astype(int), len(levels) - 1)])
    counts = {
        "age": 18 + 75 * share,
        "pain": 11 * share**1.5,
        "falls": 4 * np.maximum(share - 0.6, 0) / 0.4,
        "earlier stays": 6 * share**2,
        "drugs": 14 * share,
        "weight": 75 + 14 * latent,
    }
    return pd.Series(np.floor(counts[name]).astype(int))


def _seen(column: pd.Series) -> Array:
    """A column as the response sees it: numbers (of levels, their place) in standard units;
    0 where missing.
    """
    if column.name in LEVELS:
        numbers = np.array([LEVELS[str(column.name)].index(level) for level in column], dtype=float)
    else:
        numbers = column.to_numpy(dtype=float)
    numbers = np.log(numbers) if column.name in LABORATORY else numbers
    return np.nan_to_num((numbers - np.nanmean(numbers)) / np.nanstd(numbers, ddof=1))
