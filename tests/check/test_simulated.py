"""Simulated responses depend on the features that they name, on all of these,
and on nothing else.
"""

from __future__ import annotations

import numpy as np
import pytest

from knockoffs.check.dry_run import KINDS, MOST_RELEVANT, simulated_response
from knockoffs.datasets import AutoregressiveGaussian
from knockoffs.datasets.known_truth import Response
from knockoffs.runtime.arrays import Array
from knockoffs.table.design import expand
from knockoffs.table.table import read_table
from knockoffs.targets.classes import Classes
from knockoffs.targets.quantity import Quantity

X = AutoregressiveGaussian(features=12, rho=0.5).sample(150, random_state=0)
X.flags.writeable = False
every_kind = pytest.mark.parametrize("kind", KINDS)


def respond(x: Array, kind: str, seed: int, groups: Array | None = None) -> Response:
    table = read_table(x, who="test")
    return simulated_response(expand(table.schema, table.codes), kind, seed, groups)


@every_kind
@pytest.mark.parametrize("seed", range(4))
def test_a_response_depends_on_the_relevant_columns_alone(kind: str, seed: int) -> None:
    y, relevant = respond(X, kind, seed)
    changed = X.copy()
    changed[:, ~relevant] = changed[::-1, ~relevant] ** 3
    again = respond(changed, kind, seed)
    np.testing.assert_allclose(again.y, y, rtol=1e-9)
    np.testing.assert_array_equal(again.relevant, relevant)
    for j in np.flatnonzero(relevant):
        one = X.copy()
        one[:, j] = one[::-1, j]
        assert np.abs(respond(one, kind, seed).y - y).max() > 1e-3


@every_kind
@pytest.mark.parametrize("share", [0.02, 0.5, 0.98])
def test_bits_that_are_relevant_have_an_effect_however_rare(kind: str, share: float) -> None:
    """A step must not lie above the largest value, which most cells may hold."""
    x = (np.random.default_rng(0).random((400, 10)) < share).astype(float)
    for seed in range(5):
        y, relevant = respond(x, kind, seed)
        for j in np.flatnonzero(relevant):
            one = x.copy()
            one[:, j] = one[::-1, j]
            assert np.abs(respond(one, kind, seed).y - y).max() > 1e-3, (seed, j)


@every_kind
@pytest.mark.parametrize("unit", [1e200, 1e-200, 1e4])
def test_units_do_not_matter(kind: str, unit: float) -> None:
    y = respond(X, kind, 6).y
    np.testing.assert_allclose(respond(unit * X, kind, 6).y, y, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(respond(7 + 1e4 * X, kind, 6).y, y, rtol=1e-6, atol=1e-8)


@every_kind
def test_constants_are_never_relevant(kind: str) -> None:
    constant = X.copy()
    constant[:, 1::3] = 2.0
    constant[:, 2] = 0.1 + 0.2  # whose mean is another number
    for seed in range(10):
        assert not respond(constant, kind, seed).relevant[[1, 2, 4, 7, 10]].any()
    y, relevant = respond(np.ones((50, 3)), kind, 0)
    assert np.isfinite(y).all()
    assert not relevant.any()


@pytest.mark.parametrize(
    ("features", "least", "most"),
    [
        (1, 1, 1),
        (2, 1, 1),
        (3, 1, 1),
        (5, 2, 2),
        (8, 4, 4),
        (30, 4, 12),
        (60, 6, 24),
        (300, 30, MOST_RELEVANT),
    ],
)
def test_how_many_columns_are_relevant(features: int, least: int, most: int) -> None:
    x = np.random.default_rng(0).normal(size=(30, features))
    counts = {int(respond(x, kind, seed).relevant.sum()) for kind in KINDS for seed in range(6)}
    assert least <= min(counts) <= max(counts) <= most
    assert len(counts) > 1 or least == most


def test_relevant_columns_are_chosen_evenly() -> None:
    chosen = np.mean(
        [respond(X, kind, seed).relevant for seed in range(100) for kind in KINDS], axis=0
    )
    np.testing.assert_allclose(chosen, chosen.mean(), atol=4 * np.sqrt(0.25 / 400))


@every_kind
def test_seeds_make_responses(kind: str) -> None:
    one, again, other = (respond(X, kind, seed).y for seed in (3, 3, 4))
    np.testing.assert_array_equal(one, again)
    assert not np.array_equal(one, other)


@every_kind
def test_groups_add_a_number_of_their_own(kind: str) -> None:
    groups = np.repeat(np.arange(50), 3)
    difference = respond(X, kind, 5, groups).y - respond(X, kind, 5).y
    np.testing.assert_allclose(difference, difference[::3][groups], atol=1e-12)
    assert len(np.unique(difference.round(9))) == 50


def test_between_three_and_eight_tenths_of_the_variance_are_explained() -> None:
    """The rest is noise: what two responses of the same signal differ by."""
    x = np.random.default_rng(0).normal(size=(4000, 8))
    shares = []
    for seed in range(20):
        y, relevant = respond(x, "linear", seed)
        z = np.column_stack([np.ones(len(x)), x[:, relevant]])
        residual = y - z @ np.linalg.lstsq(z, y)[0]
        shares.append(1 - residual.var() / y.var())
    assert 0.27 < min(shares) < 0.4
    assert 0.7 < max(shares) < 0.83


@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.1, 0.9), (0.2, 0.3, 0.5)])
def test_classes_have_the_shares_of_the_target(shares: tuple[float, ...]) -> None:
    y = np.random.default_rng(0).normal(size=1000)
    counts = np.rint(10 * np.array(shares)).astype(int)
    classes = Classes.numbered(np.repeat(np.arange(float(len(shares))), counts))
    found = classes.imitated(y, 0).values.astype(int)
    np.testing.assert_allclose(np.bincount(found) / 1000, shares, atol=0.002)
    assert Quantity.example().imitated(y, 0).values is y
    order = np.argsort(y)
    assert (np.diff(found[order]) >= 0).all()
