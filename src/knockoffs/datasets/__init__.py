"""Data for tests and benchmarks: distributions that are known, responses that are simulated,
real tables.
"""

from knockoffs.datasets.known_truth import (
    Patients,
    Response,
    add_null_columns,
    liang_response,
    linear_response,
    make_patients,
)
from knockoffs.datasets.mixed import load_acic2016, load_nhefs, load_support2
from knockoffs.datasets.real import (
    DataNotFoundError,
    gene_walk,
    load_expression,
    load_hiv,
    load_icu,
    symmetrised,
)
from knockoffs.datasets.synthetic import (
    AutoregressiveGaussian,
    AutoregressiveMixture,
    ClaytonCopula,
    JoeCopula,
)

__all__ = [
    "AutoregressiveGaussian",
    "AutoregressiveMixture",
    "ClaytonCopula",
    "DataNotFoundError",
    "JoeCopula",
    "Patients",
    "Response",
    "add_null_columns",
    "gene_walk",
    "liang_response",
    "linear_response",
    "load_acic2016",
    "load_expression",
    "load_hiv",
    "load_icu",
    "load_nhefs",
    "load_support2",
    "make_patients",
    "symmetrised",
]
