"""The certificate: what a check of knockoffs found, and the verdict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from knockoffs.check.dry_run import Rate
from knockoffs.check.verdict import RULE, Findings, Judgement, judge
from knockoffs.runtime.checks import check_count
from knockoffs.runtime.notebook import html_table
from knockoffs.runtime.typed_json import plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class Certificate(Judgement):
    """How many discoveries to expect to be false, and where knockoffs differ from exact ones.

    Attributes
    ----------
    verdict : {"pass", "warn", "fail"}
        The worse of `validity` (false discoveries) and `power`; `rule` says how it is found.
    p_value : float
        p-value of all tests of validity together.
    expected : Rate
        False discoveries and power to expect at the level asked for.
    reasons : tuple of str
        The figures behind the verdict, in sentences.
    advice : tuple of str
        What can be done, in sentences.
    found : Findings
        All figures.

    Examples
    --------
    >>> import numpy as np
    >>> from knockoffs import GaussianKnockoffs, check_swap
    >>> X = np.random.default_rng(0).normal(size=(300, 30))
    >>> certificate = check_swap(GaussianKnockoffs(random_state=0).fit(X), X, random_state=0)
    >>> certificate.verdict
    'pass'
    """

    rule: ClassVar[str] = RULE

    found: Findings

    def __repr__(self) -> str:
        return f"Certificate({self.verdict}: {self.reasons[0]})"

    def _repr_html_(self) -> str:
        lines = [*self.reasons, *(f"→ {sentence}" for sentence in self.advice)]
        rows = [
            (
                str(row.feature),
                *(
                    "copy" if row.copied else f"{number:.3g}"
                    for number in (row.ks, row.correlation)
                ),
            )
            for row in self.to_frame().itertuples()
        ]
        headings = ("feature", "distance from its knockoff", "correlation with it")
        return html_table(f"Check of the knockoffs: {self.verdict}", lines, headings, rows)

    @classmethod
    def of(cls, found: Findings) -> Certificate:
        """Judge what was found."""
        return cls(**vars(judge(found)), found=found)

    @property
    def expected(self) -> Rate | None:
        return self.found.expected

    def worst_swap(self, most: int = 5) -> list[tuple[str, float]]:
        """The features that the worst-case swap learned in the fit takes most often,
        and how often.
        """
        if self.found.divergence is None:
            return []
        worst = self.found.divergence.worst
        order = np.argsort(-np.nan_to_num(worst, nan=-1.0), kind="stable")[:most]
        return [(self.found.names[j], float(worst[j])) for j in order if np.isfinite(worst[j])]

    def with_dry_run(self, rates: list[Rate]) -> Certificate:
        """The same with false discoveries and power of the statistic itself on simulated
        responses.
        """
        return Certificate.of(self.found._replace(dry_run=tuple(rates)))

    def to_frame(self) -> pd.DataFrame:
        """Return one row per feature, the largest differences first; `attrs` has the verdict."""
        found = self.found
        columns: dict[str, Any] = {
            "feature": pd.Series(found.names, dtype=object),
            "copied": found.copied,
        }
        columns |= found.per_feature._asdict()
        if found.null_wins is not None:
            columns["null_wins"] = found.null_wins[0]
        if found.divergence is not None:
            single = {
                "divergence": found.divergence.single,
                "divergence_error": found.divergence.single_error,
            }
            columns |= single | {"worst_swap": found.divergence.worst}
        frame = pd.DataFrame(columns)
        frame = frame.sort_values(
            ["shift_p", "shift"], ascending=[True, False], kind="stable", ignore_index=True
        )
        frame.attrs.update({"verdict": self.verdict, "rows": found.rows, "subject": found.subject})
        return frame

    def plot(self, *, most: int = 20) -> Figure:
        """Draw how well tests distinguish rows from swapped rows,
        and the features that differ most.

        Parameters
        ----------
        most : int, default=20
            Number of features to draw.

        Returns
        -------
        matplotlib Figure
        """
        from knockoffs.runtime.figures import certificate_figure

        check_count("most", most)
        return certificate_figure(
            self.found.tests,
            self.found.names,
            self.found.per_feature.ks,
            f"Check of the knockoffs: {self.verdict}",
            most=most,
        )

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values for JSON; a number that does not exist is None."""
        found = self.found
        total = None
        if found.divergence is not None:
            total = {
                "total": found.divergence.total,
                "standard_error": found.divergence.total_error,
                "telling": found.divergence.telling,
                "worst_swap": [
                    {"feature": name, "chance": chance} for name, chance in self.worst_swap()
                ],
            }
        return plain(
            {
                "verdict": self.verdict,
                "validity": self.validity,
                "power": self.power,
                "p_value": self.p_value,
                "rule": self.rule,
                "expected": None if found.expected is None else found.expected._asdict(),
                "simulated_responses": found.simulated,
                "alternatives": [
                    {"what": name} | rate._asdict() for name, rate in found.alternatives
                ],
                "reasons": list(self.reasons),
                "advice": list(self.advice),
                "subject": found.subject,
                "rows": found.rows,
                "covariance_error": found.covariance_error,
                "cross_covariance_error": found.cross_covariance_error,
                "divergence": total,
                "tests": [test._asdict() for test in found.tests],
                "dry_run": [rate._asdict() for rate in found.dry_run],
                "features": self.to_frame().to_dict(orient="records"),
            }
        )
