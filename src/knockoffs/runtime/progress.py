"""Progress of long work on standard error: one bar for a whole job, or lines now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from threading import Lock
from typing import NamedTuple

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from knockoffs.runtime.contexts import holding

FIRST_LINE = 10.0  # seconds before the first line; what takes less time needs none
NEXT_LINE = 30.0  # seconds between lines of one phase


class Phase(NamedTuple):
    """A part of a job.

    Attributes
    ----------
    name : str
        What is done, such as "checking the knockoffs".
    weight : float
        About how much of the time it takes, in any unit.
    stages : int
        The number of stages that it reports.
    """

    name: str
    weight: float = 1.0
    stages: int = 1


class Job:
    """How far a job is: phases with their shares of the time,
    and stages that are reported within a phase.
    """

    def __init__(self, phases: Sequence[Phase]) -> None:
        self.phases = list(phases)
        self.current = -1
        self.started = time.monotonic()
        self._stages: dict[str, float] = {}
        self._lock = Lock()  # parts of the work may report from threads of their own
        self.detail = ""

    def begin(self, name: str) -> None:
        """Begin a phase; those before it are over."""
        with self._lock:
            self.current = [phase.name for phase in self.phases].index(name)
            self._stages, self.detail = {}, ""
            self._show(new_phase=True)

    def report(self, stage: str, done: int, total: int, loss: float | None) -> None:
        """Take a report of a stage within the phase."""
        if _phase.get() not in (None, self.phases[self.current].name):
            return
        with self._lock:
            if stage not in self._stages:  # early stopping leaves stages short of their end
                self._stages = dict.fromkeys(self._stages, 1.0)
            self._stages[stage] = done / max(total, 1)
            self.detail = "" if loss is None else f"loss {loss:.2f}"
            self._show(new_phase=False)

    @property
    def title(self) -> str:
        return f"{self.current + 1}/{len(self.phases)} {self.phases[self.current].name}"

    @property
    def share(self) -> float:
        """The share of the whole job that is over."""
        weights = [phase.weight for phase in self.phases]
        within = min(1.0, sum(self._stages.values()) / self.phases[self.current].stages)
        return (sum(weights[: self.current]) + within * weights[self.current]) / sum(weights)

    @property
    def seconds_left(self) -> float | None:
        """About how long it takes, None where nothing is over yet."""
        share = self.share
        return (time.monotonic() - self.started) * (1 - share) / share if share > 0.02 else None

    def end(self) -> None:
        """Show that all of it is over."""

    def _show(self, *, new_phase: bool) -> None:
        """Show how far the job is."""


class _BarJob(Job):
    """A job on a terminal: one bar, the phase by name, and about how long it takes."""

    def __init__(self, phases: Sequence[Phase]) -> None:
        super().__init__(phases)
        columns = (
            TextColumn("{task.description}"),
            BarColumn(bar_width=12),
            TextColumn("{task.percentage:.0f} %"),
            TextColumn("{task.fields[left]}"),
            TextColumn("{task.fields[detail]}", style="dim"),
        )
        self._bars = Progress(*columns, console=Console(stderr=True))
        self._task = self._bars.add_task("", total=1.0, left="", detail="")
        self._bars.start()

    def _show(self, *, new_phase: bool) -> None:
        self._bars.update(
            self._task,
            description=self.title,
            completed=self.share,
            left=_about(self.seconds_left),
            detail=self.detail,
        )

    def end(self) -> None:
        self._bars.stop()


class _LineJob(Job):
    """A job without a terminal, such as into a log file: a line when a phase begins,
    and now and then.
    """

    def __init__(self, phases: Sequence[Phase]) -> None:
        super().__init__(phases)
        self._last = -NEXT_LINE

    def _show(self, *, new_phase: bool) -> None:
        now = time.monotonic() - self.started
        if now < FIRST_LINE or (now < self._last + NEXT_LINE and not new_phase):
            return
        self._last = now
        parts = [self.title, self.detail, f"{self.share:.0%}", _about(self.seconds_left)]
        print(", ".join(part for part in parts if part), file=sys.stderr, flush=True)


# stage, steps done, steps at most, held-out loss
Listener = Callable[[str, int, int, float | None], None]
_job: ContextVar[Job | None] = ContextVar("job", default=None)
_phase: ContextVar[str | None] = ContextVar("phase", default=None)
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


def report_stage(stage: str, done: int, total: int, loss: float | None = None) -> None:
    """Say how far a stage of long work is; nothing happens where nobody wants to see it.

    New threads and processes know of nobody: `parallel.background` takes the listener along, and
    what is done by `parallel.in_parallel` is reported by its caller.
    """
    listener = _listener.get()
    if listener is not None:
        listener(stage, done, total, loss)


def current_listener() -> Listener | None:
    """Return what hears of stages here."""
    return _listener.get()


def heard_by(listener: Listener | None) -> AbstractContextManager[None]:
    """Let stages of the work within be reported to this listener alone,
    to nobody where it is None.
    """
    return holding(_listener, listener)


def shown_during(phase: str) -> AbstractContextManager[None]:
    """Let the job show stages of the work within during this phase alone,
    for work beside other phases.
    """
    return holding(_phase, phase)


def part_of_work(name: str) -> AbstractContextManager[None]:
    """Let the names of stages within end in that of the part of the work that they belong to."""
    outer = _listener.get()

    def named(stage: str, done: int, total: int, loss: float | None) -> None:
        if outer is not None:
            outer(f"{stage}, {name}", done, total, loss)

    return heard_by(named)


@contextmanager
def job(show: bool, phases: Sequence[Phase]) -> Iterator[Job]:
    """Show the work within as one job; stages that are reported under `progress_bars` within belong
    to it.
    """
    if not show or _job.get() is not None:
        yield Job(phases)
        return
    shown = (_BarJob if _on_terminal() else _LineJob)(phases)
    try:
        with holding(_job, shown):
            yield shown
    finally:
        shown.end()


@contextmanager
def progress_bars(show: bool) -> Iterator[None]:
    """Show stages that are reported within, in the job where there is one;
    or let nobody hear of them.
    """
    whole = _job.get()
    if not show:
        shown: AbstractContextManager[Listener | None] = nullcontext()
    elif whole is not None:
        shown = nullcontext(whole.report)
    else:
        shown = _bars() if _on_terminal() else nullcontext(_LineReport())
    with shown as listener, heard_by(listener):
        yield


@contextmanager
def _bars() -> Iterator[Listener]:
    """A bar for each stage."""
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


class _LineReport:
    """A report of stages without a terminal: a line when one begins, and now and then."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._last, self._stage = -NEXT_LINE, ""

    def __call__(self, stage: str, done: int, total: int, loss: float | None) -> None:
        now = time.monotonic() - self._started
        if now < FIRST_LINE or (now < self._last + NEXT_LINE and stage == self._stage):
            return
        self._last, self._stage = now, stage
        shown = "" if loss is None else f", held-out loss {loss:.3f}"
        print(f"{stage}: {done} of {total}{shown}", file=sys.stderr, flush=True)


def _on_terminal() -> bool:
    console = Console(stderr=True)
    return console.is_terminal or console.is_jupyter


def _about(seconds: float | None) -> str:
    """Return a time in words, as far as it is known.

    >>> _about(4), _about(95), _about(5000)
    ('a few seconds left', 'about 2 min left', 'about 1.4 h left')
    """
    if seconds is None:
        return ""
    if seconds < 10:
        return "a few seconds left"
    if seconds < 60:
        return f"about {10 * round(seconds / 10):.0f} s left"
    return (
        f"about {seconds / 60:.0f} min left"
        if seconds < 3600
        else f"about {seconds / 3600:.1f} h left"
    )
