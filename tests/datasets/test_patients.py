"""The simulated hospital: mixed types, a known truth, and a response that hangs on what is seen."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression

from knockoffs import infer_schema
from knockoffs.datasets import make_patients
from knockoffs.datasets.known_truth import EFFECTS, LABORATORY, LEVELS


def test_the_table_has_all_types_and_missing_cells() -> None:
    X, y, relevant = make_patients(rows=500, random_state=0)
    assert {"nominal", "binary", "ordinal", "continuous"} <= {
        column.kind for column in infer_schema(X)
    }
    missing = X.isna().mean()
    for name, (_, _, share) in LABORATORY.items():
        assert abs(missing[name] - share) < 4 * np.sqrt(share * (1 - share) / 500) + 1e-12
    assert missing[list(LEVELS)].sum() == 0
    assert len(y) == len(X) == 500
    assert set(X.columns[relevant]) == set(EFFECTS)


def test_the_same_seed_gives_the_same_patients() -> None:
    first, second, other = (make_patients(rows=50, random_state=seed) for seed in (1, 1, 2))
    pd.testing.assert_frame_equal(first.X, second.X)
    pd.testing.assert_series_equal(first.y, second.y)
    assert not first.y.equals(other.y)


def test_given_the_relevant_columns_the_others_tell_nothing() -> None:
    X, y, relevant = make_patients(rows=5000, random_state=3)
    seen = X.copy()
    for name in X.columns:
        if name in LEVELS:
            seen[name] = X[name].map(LEVELS[name].index)
        elif name in LABORATORY:
            seen[name] = np.log(X[name])
    seen = ((seen - seen.mean()) / seen.std()).fillna(0.0).to_numpy(dtype=float)
    fitted = LinearRegression().fit(seen[:, relevant], y)
    left = y - fitted.predict(seen[:, relevant])
    assert np.abs(fitted.coef_ - [EFFECTS[name] for name in X.columns[relevant]]).max() < 0.15
    others = LinearRegression().fit(seen[:, relevant], seen[:, ~relevant])
    own = seen[:, ~relevant] - others.predict(seen[:, relevant])
    correlations = np.array([np.corrcoef(left, column)[0, 1] for column in own.T])
    assert np.abs(correlations).max() < 4 / np.sqrt(5000)
