"""What the effects of a randomisation test are about, in words."""

from __future__ import annotations

from knockoffs.pvalues.residuals import in_normal_scores
from knockoffs.schema.schema import Schema
from knockoffs.targets.target import Target

LEVELS = 2


def meaning_of_effects(target: Target) -> str:
    """Say in a sentence what an effect is: how much of what changes with a feature, and which way is up.

    >>> import numpy as np
    >>> outcome = Target("classification", np.array([0.0, 1.0]), ("ill", "well"), "outcome")
    >>> meaning_of_effects(outcome)[:74]
    "An effect says by how much the share of rows with outcome = 'well' changes"
    """
    per = "per standard deviation of a feature, while all other features stay as they are"
    name = target.name or "the target"
    if len(target.classes) > LEVELS:
        return (
            f"There are no effects: {name} has {len(target.classes)} classes, so that a change has no direction."
        )
    if target.classes:
        return f"An effect says by how much the share of rows with {name} = {target.classes[1]!r} changes {per}."
    scores = "normal scores of " if in_normal_scores(target.values) else ""
    if target.times is not None:
        return (
            "An effect says by how many standard deviations events exceed those to expect by the time of a row "
            f"({scores}martingale residuals of the {name}) {per}: above 0 the event comes earlier, below 0 later."
        )
    if scores:
        return (
            f"An effect says by how many standard deviations the normal scores of {name} change {per}. These are "
            "ranks on the scale of a normal distribution, which a few very large values do not decide."
        )
    return f"An effect says by how many standard deviations {name} changes {per}."


def upper_levels(schema: Schema) -> tuple[str, ...]:
    """Return, per feature, the level towards which an effect points where there are two in words; else nothing."""
    labels = [column.labels() if column.levels is not None else () for column in schema]
    return tuple(str(own[1]) if len(own) == LEVELS else "" for own in labels)
