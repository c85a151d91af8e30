"""What ran on a GPU is compared with a CPU, and the comparisons are a table at the end."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.gpu.devices import LEAST_CORRELATION, Comparison, Work

LINE = "compared"  # the property of a test that holds its line in the table

Compare = Callable[..., None]


@pytest.fixture
def compare(record_property: Callable[[str, object], None]) -> Compare:
    """Assert that the GPU gives the same bits again,
    and that the CPU gives nearly the same numbers.

    Where no torch is involved (`same`) the CPU gives exactly these.
    """

    def run(work: Work, *, same: bool = False) -> None:
        found = Comparison.of(work, twice=not same)
        record_property(LINE, str(found))
        np.testing.assert_array_equal(found.on_gpu, found.again)
        if same:
            np.testing.assert_array_equal(found.on_gpu, found.on_cpu)
        assert found.correlation >= LEAST_CORRELATION

    return run


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [
        report for kind in ("passed", "failed") for report in terminalreporter.stats.get(kind, [])
    ]
    lines = {report.nodeid: dict(report.user_properties).get(LINE, "") for report in reports}
    if not lines:
        return
    terminalreporter.section("correlation of the GPU's numbers with the CPU's; seconds on each")
    for test, line in sorted(lines.items()):
        terminalreporter.write_line(f"{test.partition('::')[2]:<96}{line}")
