r"""Rows for choices that may depend on X without harm to what the filter promises.

By the toss of a coin each feature is taken from X or from its knockoffs:

$$x'_j = x_j \text{ or } \tilde x_j .$$

If a feature that does not matter trades places with its knockoff and its coin is turned over, x' stays as it is.
So for exact knockoffs the signs of the w of such features are fair coins whatever is chosen by looking at x',
responses that are simulated on it, and fresh knockoffs of it. Choices by X itself have no such proof: to swap a
feature changes X.
"""

from __future__ import annotations

import numpy as np

from knockoffs.check.source import Source, find_source
from knockoffs.runtime.arrays import Flags, Indices
from knockoffs.table.design import aligned
from knockoffs.table.table import Table


def tossed_source(
    generator: object,
    table: Table,
    knockoffs: Table,
    *,
    groups: Indices | None,
    conditioned: Flags,
    rng: np.random.Generator,
) -> Source:
    """Return rows that coins have chosen, of which a generator draws fresh knockoffs."""
    rows, _ = exchanged(table, knockoffs, rng.random(len(table.units)) < 1 / 2)
    return find_source(generator, rows, groups).given(conditioned)


def exchanged(table: Table, knockoffs: Table, coins: Flags) -> tuple[Table, Table]:
    """Let some features, one coin for each, trade places with their knockoffs."""
    x, x_tilde = aligned(table, knockoffs, who="simulated responses")
    swapped = coins[table.units.of]
    return (
        x.with_codes(np.where(swapped, x_tilde.codes, x.codes)),
        x_tilde.with_codes(np.where(swapped, x.codes, x_tilde.codes)),
    )
