"""Randomisation tests: a p-value per feature, from the distribution of each feature given all the others."""

from knockoffs.randomization.result import RandomizationResult
from knockoffs.randomization.tester import RandomizationTest

__all__ = ["RandomizationResult", "RandomizationTest"]
