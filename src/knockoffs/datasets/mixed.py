"""Real tables of mixed types, raw: categories, yes or no, zeros among quantities,
and missing cells.
"""

from __future__ import annotations

import os

import pandas as pd

from knockoffs.datasets.real import Supervised, data_file
from knockoffs.runtime.checks import check_choice

SUPPORT2_OUTCOMES = ("hospdead", "death", "d.time", "slos", "totcst", "charges")
SUPPORT2_COVARIATES = (
    *(
        "age",
        "sex",
        "dzgroup",
        "dzclass",
        "num.co",
        "edu",
        "income",
        "scoma",
        "race",
        "sps",
        "aps",
        "hday",
    ),
    *(
        "diabetes",
        "dementia",
        "ca",
        "meanbp",
        "wblc",
        "hrt",
        "resp",
        "temp",
        "pafi",
        "alb",
        "bili",
        "crea",
    ),
    *("sod", "ph", "glucose", "bun", "urine", "adlp", "adls"),
)
NHEFS_OUTCOMES = ("wt82_71", "sbp", "dbp", "death")
NHEFS_LEFT_OUT = (
    "seqn",
    "wt82",
    "yrdth",
    "modth",
    "dadth",
    "smkintensity82_71",
)  # an identifier, and what came later


def load_support2(
    data: str | os.PathLike[str] | None = None, *, outcome: str = "hospdead"
) -> Supervised:
    """Seriously ill hospital patients (SUPPORT2): 9,105 rows, 31 columns, 13 % missing.

    Parameters
    ----------
    data : str or path, default=None
        Folder of real data; by default the environment's KNOCKOFFS_DATA.
    outcome : {"hospdead", "death", "d.time", "slos", "totcst", "charges"}, default="hospdead"
        Death in hospital, death at any time, days to death or the end of follow-up, days in
        hospital, costs and charges in dollars. Rows in which it is missing are left out.

    Returns
    -------
    Supervised
    """
    check_choice("outcome", outcome, SUPPORT2_OUTCOMES)
    frame = pd.read_parquet(data_file(data, "support2", "support2.parquet"))
    return _supervised(frame, list(SUPPORT2_COVARIATES), outcome, classes=("hospdead", "death"))


def load_nhefs(
    data: str | os.PathLike[str] | None = None, *, outcome: str = "wt82_71"
) -> Supervised:
    """Smokers of the NHANES I follow-up study: 1,629 rows, 54 columns, 2.4 % missing.

    Parameters
    ----------
    data : str or path, default=None
        Folder of real data; by default the environment's KNOCKOFFS_DATA.
    outcome : {"wt82_71", "sbp", "dbp", "death"}, default="wt82_71"
        Change of weight in kg, systolic and diastolic blood pressure, death. Rows in which it is
        missing are left out; the other outcomes are no covariates.

    Returns
    -------
    Supervised
    """
    check_choice("outcome", outcome, NHEFS_OUTCOMES)
    frame = pd.read_parquet(data_file(data, "nhefs", "nhefs.parquet"))
    covariates = [name for name in frame.columns if name not in (*NHEFS_LEFT_OUT, *NHEFS_OUTCOMES)]
    return _supervised(frame, covariates, outcome, classes=("death",))


def load_acic2016(data: str | os.PathLike[str] | None = None) -> pd.DataFrame:
    """Covariates of the 2016 causal inference competition: 4,802 rows, 58 columns, no gaps.

    There is no response: simulate one, so that false discoveries can be counted.

    Parameters
    ----------
    data : str or path, default=None
        Folder of real data; by default the environment's KNOCKOFFS_DATA.

    Returns
    -------
    DataFrame
        The covariates.
    """
    return pd.read_parquet(data_file(data, "acic2016", "covariates.parquet"))


def _supervised(
    frame: pd.DataFrame, covariates: list[str], outcome: str, classes: tuple[str, ...]
) -> Supervised:
    frame = frame[frame[outcome].notna()]
    y = frame[outcome]
    return Supervised(frame[covariates], y.astype(int) if outcome in classes else y.astype(float))
