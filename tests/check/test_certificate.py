"""The certificate: plain values, an order, and nothing that changes under one's hands."""

from __future__ import annotations

import json
import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from knockoffs import Certificate, check_swap
from knockoffs.check.dry_run import Rate
from knockoffs.check.joint_tests import Divergence
from knockoffs.check.verdict import RULE

from .conftest import exact_pair
from .test_verdict import NAN, findings


@pytest.fixture(scope="module")
def certificate() -> Certificate:
    """Of six features, one moved, one copied."""
    x, x_tilde = exact_pair(100, 0)
    x_tilde[:, 2] += 2
    x_tilde[:, 4] = x[:, 4]
    return check_swap((x, x_tilde), random_state=0)


def plain(value: object) -> bool:
    if isinstance(value, dict):
        return all(type(k) is str and plain(v) for k, v in value.items())
    if isinstance(value, list):
        return all(map(plain, value))
    return type(value) in (str, int, float, bool, type(None))


def test_to_dict_is_plain_and_strict_json(certificate: Certificate) -> None:
    found = certificate.to_dict()
    assert plain(found)
    text = json.dumps(found, allow_nan=False)
    assert json.loads(text) == found
    with_rates = certificate.with_dry_run(
        [Rate("linear", 0.1, 0.2, NAN, 0.5, float("inf"), 0.0, NAN)]
    ).to_dict()
    json.dumps(with_rates, allow_nan=False)
    assert (
        with_rates["dry_run"][0]["fdp_error"]
        is with_rates["dry_run"][0]["fdp_of_selections"]
        is None
    )


def test_to_dict_holds_what_the_attributes_say(certificate: Certificate) -> None:
    found = certificate.to_dict()
    for name in ("verdict", "validity", "power", "p_value"):
        assert found[name] == getattr(certificate, name)
    assert (found["reasons"], found["advice"]) == ([*certificate.reasons], [*certificate.advice])
    assert found["rule"] == certificate.rule == RULE
    assert len(found["tests"]) == 12
    assert found["expected"]["level"] == certificate.expected.level == 0.1
    assert found["expected"]["power"] == certificate.expected.power
    assert found["simulated_responses"] == certificate.found.simulated == 160
    assert found["alternatives"] == [
        {"what": what}
        | {name: value if value == value else None for name, value in rate._asdict().items()}
        for what, rate in certificate.found.alternatives
    ]
    wins = dict(zip(certificate.found.names, certificate.found.null_wins[0], strict=True))
    for row in found["features"]:
        assert row["null_wins"] == (None if row["copied"] else wins[row["feature"]])
    assert sorted(row["feature"] for row in found["features"]) == [f"x{j}" for j in range(6)]
    (copied,) = [row for row in found["features"] if row["copied"]]
    assert copied["feature"] == "x4"
    assert copied["shift"] is copied["ks_p"] is copied["freedom"] is None


def test_the_frame_begins_with_what_differs_most(certificate: Certificate) -> None:
    frame = certificate.to_frame()
    assert frame["feature"].iloc[0] == "x2"
    assert frame["feature"].iloc[-1] == "x4"
    assert frame["shift_p"].dropna().is_monotonic_increasing
    assert frame.attrs["verdict"] == certificate.verdict == "fail"
    for name, values in certificate.found.per_feature._asdict().items():
        order = [int(feature[1:]) for feature in frame["feature"]]
        np.testing.assert_array_equal(frame[name], values[order])


def test_a_dry_run_gives_a_new_certificate() -> None:
    before = Certificate.of(findings())
    rate = Rate("linear", 0.1, 0.5, 0.01, 0.9, 0.01, 1.0, 0.5)
    after = before.with_dry_run([rate])
    assert (before.found.dry_run, after.found.dry_run) == ((), (rate,))
    assert after.found._replace(dry_run=()) == before.found


def test_it_is_frozen_and_can_be_kept(certificate: Certificate) -> None:
    with pytest.raises(FrozenInstanceError):
        certificate.found = None
    with pytest.raises(AttributeError):
        certificate.verdict = "pass"
    assert pickle.loads(pickle.dumps(certificate)).to_dict() == certificate.to_dict()


def test_the_worst_swap_names_the_features_that_it_takes_most_often() -> None:
    x, x_tilde = exact_pair(100, 0)
    found = check_swap((x, x_tilde), random_state=0).found
    assert Certificate.of(found).worst_swap() == []
    features = len(found.names)
    worst = np.linspace(0.1, 0.9, features)
    worst[-1] = np.nan  # a copy, which no swap can tell
    divergence = Divergence(0.1, 0.01, np.zeros(features), np.zeros(features), worst)
    certificate = Certificate.of(found._replace(divergence=divergence))
    names = [name for name, _ in certificate.worst_swap(most=2)]
    assert names == [found.names[-2], found.names[-3]]
    assert certificate.to_dict()["divergence"]["worst_swap"][0]["feature"] == found.names[-2]
    assert certificate.to_dict()["divergence"]["worst_swap"][0]["chance"] == worst[-2]
