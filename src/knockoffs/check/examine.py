"""`check_swap`: how many discoveries with these knockoffs are false,
and where do they differ from exact ones?
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from knockoffs.check.certificate import Certificate
from knockoffs.check.dry_run import LEVELS, DryRun, simulate
from knockoffs.check.exact import draw_signs
from knockoffs.check.expectation import Expect, expect, find_alternatives
from knockoffs.check.feature_tests import PerFeature, compare_features, near_duplicates
from knockoffs.check.joint_tests import compare_swaps, covariance_errors
from knockoffs.check.pairs import Pairs, independent_pairs
from knockoffs.check.source import Source, find_source, safe_threads
from knockoffs.check.verdict import Findings, judge
from knockoffs.runtime.checks import check_choice, check_count, check_fraction, check_jobs
from knockoffs.runtime.parallel import background, suited_threads, workers
from knockoffs.runtime.progress import Phase, heard_by, job, progress_bars, report_stage
from knockoffs.runtime.randomness import RandomState, random_generator
from knockoffs.schema.schema import FeatureGroups
from knockoffs.statistics.holdout import HoldoutStatistic
from knockoffs.table.design import aligned, copied_features
from knockoffs.targets.registry import TARGETS

CHECK = "checking the knockoffs"  # the phase, in words
MIN_ROWS = 20
# the most rows that tests use, and random swaps for their p-values
FEATURE_ROWS, FEATURE_DRAWS = 10_000, 4_000
SWAP_ROWS, SWAP_DRAWS = 2_000, 5_000


def check_swap(
    generator: Any,
    X: Any = None,
    *,
    groups: Any = None,
    feature_groups: FeatureGroups = None,
    fdr: float = 0.1,
    statistic: Any = None,
    task: str = "regression",
    dry_run: bool = False,
    levels: Sequence[float] = LEVELS,
    replicates: int = 8,
    offset: int = 1,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    progress: bool = False,
    subject: str = "",
) -> Certificate:
    """Say how many discoveries with these knockoffs are false, and where they are not exact.

    Responses whose relevant features are known are simulated on the rows, and features are selected
    for them by quick statistics that stand in for `statistic`; the share of false ones decides on
    the verdict (`RULE`). Beside it, exact tests compare rows and their knockoffs with the same rows
    after swaps, which exact knockoffs leave alike: where rows (or `groups` of rows) are independent
    of each other, exact knockoffs pass them in 99 % of the cases. With fewer than 80 rows there is
    no classifier among the tests, and only gross faults can be found.

    Parameters
    ----------
    generator : generator, callable or pair of tables
        A fitted generator, any function `f(X)` that returns knockoffs, or a pair `(X, X_tilde)`.
    X : table of shape (n_rows, n_features), default=None
        The rows (not with a pair): those that features are to be selected on or, to judge a
        generator by itself, rows that it was not fitted on. Tests use a random part of more than
        2,000. A nominal feature is compared by indicators of its levels, missing cells by an
        indicator of their own.
    groups : array-like of shape (n_rows,), default=None
        One label per row, for rows that belong together. Groups are then what is independent: the
        tests compare one row of each group, and the group's mean, with their knockoffs.
    feature_groups : dict of group names to lists of column names (or numbers), default=None
        Columns that are only ever swapped together; by default those that the generator was fitted
        with.
    fdr : float, default=0.1
        The level at which false discoveries are expected and judged.
    statistic : statistic, default=None
        The statistic that is to be used, `HoldoutStatistic()` by default.
    task : {"regression", "classification", "count", "survival"}, default="regression"
        What the target is: a quantity, two classes of equal size, counts with a mean of 2, or
        times of which half are censored.
    dry_run : bool, default=False
        Whether to simulate some responses with `statistic` itself as well.
    levels : sequence of float, default=(0.05, 0.1, 0.2, 0.3)
        Levels of the dry run.
    replicates : int, default=8
        Simulated responses of each kind in the dry run.
    offset : {0, 1}, default=1
        Offset of the filter.
    random_state : int, numpy Generator or None, default=None
        Seed.
    n_jobs : int, default=None
        Number of cores for the simulated responses and the dry run.
    progress : bool, default=False
        Show progress bars.
    subject : str, default=""
        What is checked, in words, for the certificate.

    Returns
    -------
    Certificate
        The verdict, its reasons, and advice.

    Examples
    --------
    >>> import numpy as np
    >>> from knockoffs import check_swap
    >>> rng = np.random.default_rng(0)
    >>> X, X_tilde = rng.normal(size=(2, 500, 40))  # exact: the columns are independent
    >>> check_swap((X, X_tilde), random_state=0).verdict
    'pass'
    >>> # columns with a cause in common, which other rows do not share
    >>> Z = X + 2 * rng.normal(size=(500, 1))
    >>> check_swap((Z, rng.permutation(Z)), random_state=0).verdict
    'fail'
    """
    check_count("replicates", replicates)
    check_choice("offset", offset, (0, 1))
    check_choice("task", task, tuple(TARGETS))
    check_fraction("fdr", fdr)
    check_jobs("n_jobs", n_jobs)
    for level in levels:
        check_fraction("levels", level)
    source = find_source(generator, X, groups, feature_groups)
    require_rows(source)
    rng, target = random_generator(random_state, stream=6), TARGETS[task].example()
    statistic = HoldoutStatistic() if statistic is None else statistic
    source = source._replace(subject=subject or source.subject)
    phases = [Phase(CHECK, stages=2), *([Phase("dry run", 10)] * dry_run)]
    with (
        workers(n_jobs),
        suited_threads(source.table),
        safe_threads(generator),
        job(progress, phases) as work,
        progress_bars(progress),
    ):
        work.begin(CHECK)
        expect_of = partial(
            expect,
            source.table,
            offset=offset,
            seed=int(rng.integers(2**31)),
            target=target,
            groups=source.groups,
        )
        with background(lambda: expect_of(source.draw, [statistic])[0]) as expected:
            found = examine(source, expected, fdr, rng, expect_of=expect_of)
        if dry_run:
            work.begin("dry run")
            rates = simulate(
                source.table,
                source.draw,
                statistic,
                replicates=replicates,
                offset=offset,
                rng=rng,
                target=target,
                groups=source.groups,
            ).rates(levels)
            found = found.with_dry_run(rates)
    return found


def require_rows(source: Source) -> None:
    """Refuse rows that are too few to see anything, or hold nothing to see."""
    if _independent(source) < MIN_ROWS:
        what = "rows" if source.groups is None else "groups of rows"
        raise ValueError(
            f"check_swap: X has {_independent(source)} {what}; at least {MIN_ROWS} are needed to "
            f"see anything."
        )
    if source.table.shape[1] == 0:
        raise ValueError("check_swap: X has no columns. Pass the features.")


def _independent(source: Source) -> int:
    return len(source.table) if source.groups is None else int(source.groups.max()) + 1


def examine(
    source: Source,
    expected: Callable[[], DryRun],
    fdr: float,
    rng: np.random.Generator,
    *,
    expect_of: Expect,
    seen: Source | None = None,
    exchangeable: bool = False,
    calibrated: bool = False,
) -> Certificate:
    """Test where knockoffs differ from exact ones, and judge what is expected of them.

    `expected` says what that is, once the tests are done; `expect_of` says what to expect of other
    statistics, and of other knockoffs where the generator is `exchangeable`, for advice; a level
    that is `calibrated` is not advised to be. Responses are selected for with the rows of `seen`,
    by default those of the source.
    """
    found = _tested(source, rng)
    expectation = expected()
    judged = expectation.judged(fdr)
    found = found._replace(
        expected=expectation.rate(fdr),
        judged=judged,
        of_exact=math.nan if judged is None else expectation.fdp_of_exact(judged.level),
        simulated=len(expectation.ws),
        null_wins=expectation.null_wins(),
    )
    if judge(found).validity != "pass":
        others = find_alternatives(
            expectation,
            fdr,
            source=seen or source,
            expect_of=expect_of,
            exchangeable=exchangeable,
            calibrated=calibrated,
        )
        with heard_by(None):  # these come behind the stages that were announced
            found = found._replace(alternatives=tuple(others))
    return Certificate.of(found)


def _tested(source: Source, rng: np.random.Generator) -> Findings:
    """Compare rows and one draw of their knockoffs with the same rows after swaps."""
    seed = int(rng.integers(2**31))
    x, x_tilde = aligned(source.table, source.draw(seed), who="check_swap")
    copied = copied_features(x, x_tilde)
    found = Findings(
        names=source.table.units.names,
        copied=copied,
        per_feature=PerFeature(*np.full((len(PerFeature._fields), len(copied)), np.nan)),
        rows=len(source.table),
        feature_rows=min(_independent(source), FEATURE_ROWS),
        swap_rows=min(_independent(source), SWAP_ROWS),
        subject=source.subject,
        learned=source.learned,
        share_of_fit=source.share_of_fit,
    )
    if not copied.all():
        pairs = independent_pairs(
            x, x_tilde, np.flatnonzero(~copied), source.groups, FEATURE_ROWS, rng
        )
        found = _compared(found, pairs, rng)
    return (
        found
        if source.divergence is None
        else found._replace(divergence=source.divergence(seed, rng))
    )


def _compared(found: Findings, pairs: Pairs, rng: np.random.Generator) -> Findings:
    """Add the tests on the features that differ from their knockoffs."""
    differ = np.flatnonzero(~found.copied)
    compared = compare_features(pairs, draw_signs(rng, FEATURE_DRAWS, pairs.rows))
    # What is nan stays so where the knockoff is a copy.
    for values, own in zip(found.per_feature, compared, strict=True):
        values[differ] = own
    pairs = pairs.first(SWAP_ROWS)
    tests = []
    for test in compare_swaps(pairs, draw_signs(rng, SWAP_DRAWS, pairs.rows), rng):
        tests.append(test)
        report_stage("check of knockoffs", len(tests), 12)
    of_knockoffs, across = covariance_errors(pairs)
    return found._replace(
        tests=tuple(tests),
        covariance_error=of_knockoffs,
        cross_covariance_error=across,
        near_duplicates=tuple((int(differ[j]), int(differ[k])) for j, k in near_duplicates(pairs)),
        several_columns=tuple(differ[pairs.several_columns].tolist()),
    )
