"""Randomisation tests: a p-value per feature, from the distribution of each feature given all the
others.
"""

from knockoffs.pvalues.result import RandomizationResult
from knockoffs.pvalues.tester import RandomizationTest

__all__ = ["RandomizationResult", "RandomizationTest"]
