"""What was selected, why nothing was, and what to do then:
sentences with the numbers of this table.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from knockoffs.filtering.filter import (
    NEXT_TO_NOTHING,
    counts_beyond,
    draw_threshold,
    estimated_fdp,
    read_statistics,
    smallest_evalue_levels,
    smallest_levels,
)
from knockoffs.runtime.arrays import Array, Flags
from knockoffs.schema.words import listing, rounded_up

# share of the relevant features found in simulated responses, below which more rows would help
FEW_FOUND = 0.5


def explain_selection(
    ws: Array, selected: Flags, evalues: Array, fdr: float, *, offset: int = 1
) -> str:
    """Say in a sentence how many features were selected, or why none:
    from w of each draw and mean e-values.
    """
    if selected.any():
        found, needed = int(selected.sum()), math.ceil(1 / fdr - 1e-9)
        said = f"{found} of {len(selected)} features selected at fdr={fdr:g}."
        empty = offset == 0 and len(ws) == 1 and found < needed
        return f"{said} With offset=0, {NEXT_TO_NOTHING.format(needed=needed)}." if empty else said
    if len(ws) == 1:
        return explain_empty_selection(ws[0], fdr, offset=offset)
    found = np.mean([np.isfinite(draw_threshold(w, fdr, len(ws), offset=offset)) for w in ws])
    needed, largest = len(evalues) / fdr, np.sort(evalues)[::-1]
    # of the k largest: k times the smallest of them
    together = largest * np.arange(1, len(evalues) + 1)
    attempt = int(np.flatnonzero(together == together.max())[-1]) + 1 if largest[0] > 0 else 1
    which = "the largest" if attempt == 1 else f"the {attempt} largest"
    has = (
        f"it has {largest[0]:.3g}"
        if attempt == 1
        else f"each has {largest[attempt - 1]:.3g} or more"
    )
    first = smallest_evalue_levels(evalues).min()
    outcome = f"which fdr={rounded_up(first):g} allows" if first < 1 else "too little at any fdr"
    return (
        f"No feature has a mean e-value over {len(ws)} draws that is large enough: k features "
        f"pass where each has "
        f"{needed:.4g}/k, and an e-value is at most {len(evalues)}. The best attempt is {which}: "
        f"{has}, where "
        f"fdr={fdr:g} needs {needed / attempt:.3g}, {outcome}. {found:.0%} of the draws have "
        f"features that stand "
        "out."
    )


def explain_empty_selection(w: ArrayLike, fdr: float, *, offset: int = 1) -> str:
    """Why nothing was selected: what stands out, what is needed,
    and the level that allows the best attempt.
    """
    w = read_statistics(w)
    positive, negative = int(np.count_nonzero(w > 0)), int(np.count_nonzero(w < 0))
    if positive == 0:
        return f"No feature of {len(w)} has w > 0: none looks more useful than its knockoff."
    thresholds, above, below = counts_beyond(w)
    _, estimates = estimated_fdp(w, offset=offset)
    best = int(np.argmin(np.where(above > 0, estimates, np.inf)))
    selected, opposed, share = int(above[best]), int(below[best]), float(estimates[best])
    needed = [max(math.ceil((offset + negative) / fdr - 1e-9), 1) for negative in (0, 1)]
    above_zero = _count(positive, f"of {len(w)} has", f"of {len(w)} have")
    chance = "None has w < 0."
    if negative:
        chance = (
            f"{_count(negative, 'has', 'have')} w < 0, and a feature without a link of its own is "
            f"as likely to be "
            f"above zero as below: about {min(positive, negative)} of the {positive} may be there "
            f"by chance."
        )
    standing = _count(standing_out(w), "of them stands", "of them stand")
    if share < 1:
        outcome = f"these {selected} would be selected at fdr={rounded_up(share):g}"
    else:
        outcome = "no level below 1 selects any"
    return (
        f"At fdr={fdr:g} nothing is selected. {above_zero} w > 0. {chance} "
        f"{standing} out, further above zero than any feature is below; fdr={fdr:g} with "
        f"offset={offset} needs at least "
        f"{_count(needed[0], 'feature that stands', 'features that stand')} out "
        f"({needed[1]} where one is as far "
        f"below zero, and so on). The best threshold, {thresholds[best]:.3g}, has {selected} at "
        f"or above it "
        f"and {opposed} at or below {-thresholds[best]:.3g}: an estimated share of false ones of "
        f"({offset} + {opposed}) / {selected} = {share:.2g}, and {outcome}."
    )


def next_steps(
    ws: Array,
    evalues: Array,
    names: Sequence[str],
    fdr: float,
    *,
    rows: int,
    twins: Sequence[tuple[str, str]] = (),
    power: float | None = None,
    testable: bool = True,
    offset: int = 1,
) -> list[str]:
    """Return what can be done where nothing is selected, computed for this table.

    Parameters
    ----------
    ws, evalues : arrays
        w of each draw, and mean e-values.
    names : sequence of str
        The features, as w has them.
    fdr : float
        The level of the filter.
    rows : int
        The number of rows.
    twins : sequence of pairs of str, default=()
        Features that hardly differ from each other.
    power : float, default=None
        The share of the relevant features found in responses that were simulated on the rows, where
        it is known.
    testable : bool, default=True
        Whether randomisation tests could be used: rows are independent, and features are single
        columns.
    offset : {0, 1}, default=1
        The offset of the filter.
    """
    levels = (
        smallest_levels(ws[0], offset=offset) if len(ws) == 1 else smallest_evalue_levels(evalues)
    )
    steps = []
    first = float(levels.min())
    if first < 1:
        found = [names[j] for j in np.argsort(-ws.mean(0), kind="stable") if levels[j] == first]
        steps.append(
            f"A higher level: fdr={rounded_up(first):g} is the smallest that selects anything, "
            f"{listing(found)}. "
            "Chosen after looking it bounds nothing, so treat these as suggestions, or choose it "
            "before new data."
        )
    needed = 1 if offset == 0 and len(ws) == 1 else math.ceil(1 / fdr - 1e-9)
    plausible = standing_out(ws.mean(0))
    if plausible < needed and testable:
        steps.append(
            f"p-values (`knockoffs test`, or RandomizationTest in Python): a single feature can "
            f"be a discovery "
            f"there, while the filter at fdr={fdr:g} needs about {needed} at once, and {plausible} "
            f"{'stands' if plausible == 1 else 'stand'} out here. With the same y, both together "
            f"bound the sum of "
            f"their levels: {2 * fdr:g} for tests at level={fdr:g}."
        )
    if len(ws) > 1:
        steps.append(
            "A single draw (n_draws=1): several draws give power away where few features are "
            "relevant."
        )
    if twins:
        pairs = listing([f"{one!r} and {other!r}" for one, other in twins], 3)
        steps.append(
            f"Near-duplicates hide each other, since neither tells much beyond the other: "
            f"{pairs}. Keep one of "
            "each, put their mean for both where both are numbers, or give both one answer "
            "(feature_groups, "
            "--feature-groups)."
        )
    few_found = power is not None and power < FEW_FOUND
    # fewer features are never selected, however many rows there are
    if few_found and len(names) >= needed:
        steps.append(
            f"More rows: with these {rows:,}, {power:.0%} of the relevant features of simulated "
            f"responses are found at fdr={fdr:g}."
        )
    return steps


def standing_out(w: Array) -> int:
    """Return how many w are further above zero than any is below.

    >>> standing_out(np.array([3.0, 2.0, -1.0, 0.5]))
    2
    """
    return int(np.count_nonzero(w > max(-w.min(), 0.0)))


def _count(number: int, one: str, several: str) -> str:
    return f"{number} {one if number == 1 else several}"
