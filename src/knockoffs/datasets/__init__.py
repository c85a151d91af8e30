"""Data whose law is known, for tests and benchmarks."""

from knockoffs.datasets.synthetic import AutoregressiveGaussian, AutoregressiveMixture, ClaytonCopula

__all__ = ["AutoregressiveGaussian", "AutoregressiveMixture", "ClaytonCopula"]
