"""What each feature does: direction, size and shape of its relation to y,
beside that of its knockoff.
"""

from knockoffs.effects.description import describe_effects
from knockoffs.effects.result import Curve, Effect, Effects

__all__ = ["Curve", "Effect", "Effects", "describe_effects"]
