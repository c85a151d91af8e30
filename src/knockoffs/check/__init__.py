"""How far knockoffs are from exact ones: tests, a dry run, a verdict."""

from knockoffs.check.certificate import Certificate
from knockoffs.check.examine import check_swap

__all__ = ["Certificate", "check_swap"]
