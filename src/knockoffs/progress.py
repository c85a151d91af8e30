"""Progress bars for long work, shown on standard error and only when asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from knockoffs.engine.training import Report


@contextmanager
def progress_bars(show: bool) -> Iterator[Report | None]:
    """A callback for training, or None where nothing is to be shown."""
    if not show:
        yield None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:.0f}/{task.total:.0f}"),
        TextColumn("{task.fields[loss]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    # single steps may take minutes, and the time left is known from all of them
    with Progress(*columns, console=Console(stderr=True), speed_estimate_period=1e9) as bars:
        tasks = {}

        def report(stage: str, done: int, total: int, loss: float | None) -> None:
            shown = "" if loss is None else f"held-out loss {loss:.3f}"
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=total, loss=shown)
            bars.update(tasks[stage], completed=done, loss=shown)

        yield report
        for task in tasks.values():  # early stopping leaves bars short of their end
            bars.update(task, completed=bars.tasks[task].total)


def report_of_draw(report: Report, draw: int, draws: int) -> Report:
    """Return a report that names the draw, where there are several."""
    if draws == 1:
        return report
    return lambda stage, done, total, loss: report(f"{stage}, draw {draw + 1} of {draws}", done, total, loss)
