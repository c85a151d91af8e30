"""How far knockoffs are from exact ones: tests, a dry run, a verdict."""

from knockoffs.diagnostics.certificate import Certificate
from knockoffs.diagnostics.check import check_swap

__all__ = ["Certificate", "check_swap"]
