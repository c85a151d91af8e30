"""Data whose law is known, for tests and benchmarks."""

from knockoffs.datasets.nulls import add_null_columns
from knockoffs.datasets.responses import Response, liang_response, linear_response
from knockoffs.datasets.synthetic import AutoregressiveGaussian, AutoregressiveMixture, ClaytonCopula

__all__ = [
    "AutoregressiveGaussian",
    "AutoregressiveMixture",
    "ClaytonCopula",
    "Response",
    "add_null_columns",
    "liang_response",
    "linear_response",
]
