"""What the effects of a randomisation test are about, in words."""

from __future__ import annotations

from knockoffs.schema import Schema
from knockoffs.statistics.targets import Target

LEVELS = 2


def meaning_of_effects(target: Target) -> str:
    """Say what an effect is: how much of what changes with a feature, and which way is up.

    >>> import numpy as np
    >>> meaning_of_effects(Target("classification", np.array([0.0, 1.0]), ("ill", "well"), "outcome"))
    "by how much the share of rows with outcome = 'well' changes per standard deviation of a feature"
    """
    per = "per standard deviation of a feature"
    name = target.name or "the target"
    if target.times is not None:
        return (
            f"by how many standard deviations events exceed those to expect by the time of a row (martingale "
            f"residuals of the {name}) {per}: above 0 the event comes earlier, below 0 later"
        )
    if not target.classes:
        return f"by how many standard deviations {name} changes {per}"
    if len(target.classes) > LEVELS:
        return f"none: {name} has {len(target.classes)} classes, so that a change has no direction"
    return f"by how much the share of rows with {name} = {target.classes[1]!r} changes {per}"


def upper_levels(schema: Schema) -> tuple[str, ...]:
    """Return, per feature, the level towards which an effect points where there are two in words; else nothing."""
    labels = [column.labels() if column.levels is not None else () for column in schema]
    return tuple(str(own[1]) if len(own) == LEVELS else "" for own in labels)
