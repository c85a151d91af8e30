"""`python -m benchmarks.cost`: what a fit and its draws cost, by counts of the work,
beside what was measured.

Rates stand for machines. They were set by hand with the measured points in view, but for those
marked as fresh.
"""

from __future__ import annotations

from typing import NamedTuple

from rich.console import Console
from rich.table import Table

BATCH = 64
EPOCH_STEPS = 32
MOST_ROWS = 50_000  # that a fit learns from
# projections per column; a column of q_knockoff has 2 d inputs, one of q_joint d
JOINT, KNOCKOFF = 4, 5
GIB = 2**30


class Machine(NamedTuple):
    """Seconds per unit of work."""

    name: str
    per_flop: float  # of large matrix products in float32
    per_byte: float  # of weights that pass through memory
    per_column: float  # of a step: the small networks of a column, and its place in a draw
    per_step: float  # of a step, whatever its size
    start_per_column: float
    start_per_cell: float  # of a row in the products of moments and likelihoods, rows x columns^2


CORE = Machine("one core", 1 / 40e9, 1 / 10e9, 70e-6, 4e-3, 4.3e-3, 1.0e-9)
H200 = Machine("H200", 1 / 40e12, 1 / 3.5e12, 0.0, 10e-3, 4.3e-3, 1.0e-9)  # the start is the host's
ROUNDS = 32  # of a draw on a GPU, by all columns at once; depends on how far dependence reaches


def start_seconds(machine: Machine, rows: int, columns: int) -> float:
    return (
        machine.start_per_column * columns
        + machine.start_per_cell * min(rows, MOST_ROWS) * columns**2
    )


def step_seconds(machine: Machine, columns: int, stage: int, *, own: bool) -> float:
    """A step of training: products of projections, weights and their moments in memory,
    and what is small.
    """
    on_gpu = machine.per_column == 0
    if stage == 1:
        products, weights = (4 if own else 2) * JOINT, JOINT
    else:
        # one product of all projections with x and x_tilde, per row and column^2
        inputs = 2 * 2 * KNOCKOFF
        # x once, the columns before, and back
        draw = 2 * KNOCKOFF * (1 + (2 * ROUNDS if on_gpu else 1.5))
        products = draw + 3 * inputs + 4 * JOINT + (2 * inputs if own else 0)
        weights = 2 * KNOCKOFF
    passes = 18 if own else 4  # over the weights: products, mask, Adam, running mean
    share = 0.25 if stage == 1 else 1.0  # of what is small
    work = (
        products * BATCH * columns**2 * machine.per_flop
        + 4 * passes * weights * columns**2 * machine.per_byte
    )
    return work + share * (machine.per_step + machine.per_column * columns)


Epochs = tuple[int, int, int, int]  # of the shared and the own networks of stage 1, then of stage 2


def fit_seconds(machine: Machine, columns: int, epochs: Epochs, steps: int) -> tuple[float, float]:
    """Stage 1 and stage 2, from the epochs of their shared and own networks."""
    times = [
        steps * count * step_seconds(machine, columns, 1 + k // 2, own=k % 2 == 1)
        for k, count in enumerate(epochs)
    ]
    return times[0] + times[1], times[2] + times[3]


def start_bytes(columns: int) -> float:
    """float64 matrices of all candidates: 8 estimators and up to 5 clusters on 2 scales
    (`starts_memory`).
    """
    return 8.0 * (10 + 2 * (8 + sum(clusters + 2 for clusters in range(2, 6)))) * columns**2


def training_bytes(columns: int) -> float:
    """Weights and masks; of q_knockoff also mean, best, two gradients and two moments;
    and activations.
    """
    weights = (JOINT + 1) + (2 * KNOCKOFF + 2) + 6 * 2 * KNOCKOFF
    return 4.0 * (weights * columns**2 + 1200 * BATCH * columns)


class Point(NamedTuple):
    """A measured fit: CPU seconds of its parts, and the epochs of its four phases."""

    columns: int
    epochs: Epochs
    seconds: tuple[float, float, float]  # start, stage 1, stage 2
    fresh: bool = False  # measured after the rates were set


ROWS = 2_000
STEPS = 27  # 1,700 rows in batches of 64
POINTS = (
    Point(25, (2, 6, 2, 0), (0.16, 0.26, 0.33)),
    Point(50, (2, 6, 2, 0), (0.32, 0.37, 0.48)),
    Point(100, (2, 6, 2, 0), (0.44, 0.68, 0.85)),
    Point(200, (2, 6, 4, 6), (0.87, 1.28, 8.11)),
    Point(400, (2, 6, 5, 6), (1.93, 2.79, 20.89)),
    Point(300, (2, 6, 2, 0), (1.33, 1.53, 2.22), fresh=True),
    Point(600, (2, 6, 6, 6), (2.83, 3.80, 35.40), fresh=True),
)


def measured() -> Table:
    table = Table(title=f"One core, {ROWS:,} rows: seconds predicted / measured (* fresh)")
    for heading in ("columns", "start", "stage 1", "stage 2", "fit"):
        table.add_column(heading, justify="right")
    for point in POINTS:
        stages = fit_seconds(CORE, point.columns, point.epochs, STEPS)
        predicted = (start_seconds(CORE, ROWS, point.columns), *stages)
        pairs = zip((*predicted, sum(predicted)), (*point.seconds, sum(point.seconds)), strict=True)
        table.add_row(
            f"{point.columns}{'*' * point.fresh}",
            *(f"{own:.2f} / {seen:.2f}" for own, seen in pairs),
        )
    return table


def on_gpu() -> Table:
    """Fits on an H200 whose start is computed on 16 cores."""
    table = Table(
        title="One H200: predicted, with 2 + 6 + 4 + 6 epochs; measured where there is a figure"
    )
    for heading in (
        "rows x columns",
        "start, s",
        "training, s",
        "training, GiB",
        "start, GiB",
        "measured",
    ):
        table.add_column(heading, justify="right")
    seen = {
        (10_000, 1_000): "22 s, of which 5 to 11 training",
        (5_000, 5_000): "239 s, most of it the start; 9.1 GiB",
    }
    for rows, columns in (*seen, (500_000, 10_000)):
        training = sum(fit_seconds(H200, columns, (2, 6, 4, 6), EPOCH_STEPS))
        start = start_seconds(H200, rows, columns)
        memory = [f"{own / GIB:.1f}" for own in (training_bytes(columns), start_bytes(columns))]
        said = seen.get((rows, columns), "-")
        table.add_row(f"{rows:,} x {columns:,}", f"{start:.0f}", f"{training:.0f}", *memory, said)
    return table


def eight_gpus(rows: int = 500_000, columns: int = 10_000, gpus: int = 8) -> Table:
    """What nobody has run: the parts of 500,000 x 10,000."""
    table = Table(title=f"{rows:,} x {columns:,} on {gpus} H200: extrapolated")
    table.add_column("part")
    table.add_column("seconds", justify="right")
    start = start_seconds(H200, rows, columns)
    training = sum(fit_seconds(H200, columns, (2, 6, 4, 6), EPOCH_STEPS))
    longest = sum(fit_seconds(H200, columns, (60, 60, 40, 40), EPOCH_STEPS))
    chunk = max(1, 2**18 // columns)  # rows that `engine.chunks` draws together
    onto = 2 * KNOCKOFF * columns**2
    one_round = max(chunk * onto * H200.per_flop, 4 * KNOCKOFF * columns**2 * H200.per_byte)
    draws = rows / chunk * (ROUNDS + 1) * one_round
    in_order = rows * 1.5 * onto * H200.per_flop + rows / 50_000 * columns * 25 * 3e-6
    for part, seconds in (
        (f"start on 16 cores of the host, from {MOST_ROWS:,} rows", start),
        ("the same with 10 times the rate, such as by a GPU", start / 10),
        ("training, one GPU, 18 epochs", training),
        ("training, one GPU, all 200 epochs", longest),
        (f"draws of all rows, {chunk} at a time, {ROUNDS} rounds, one GPU", draws),
        (f"the same, rows divided among {gpus} GPUs", draws / gpus),
        (f"column after column, 50,000 rows at a time, {gpus} GPUs", in_order / gpus),
    ):
        table.add_row(part, f"{seconds:,.0f}")
    return table


def sparse(parents: int = 50) -> Table:
    """What weights on few inputs per column would save."""
    table = Table(
        title=f"One step of stage 2 with d inputs per column, and with {parents} parents (one core)"
    )
    for heading in ("columns", "dense, ms", "sparse, ms", "dense, GiB", "sparse, GiB"):
        table.add_column(heading, justify="right")
    for columns in (1_000, 5_000):
        own = CORE.per_step + CORE.per_column * columns
        dense = step_seconds(CORE, columns, 2, own=True)
        # indexed products reach about a quarter of the rate of dense ones
        thin = own + (dense - own) * 4 * parents / columns
        whole = training_bytes(columns)
        few = 4 * 1200 * BATCH * columns
        cells = [f"{1e3 * dense:.0f}", f"{1e3 * thin:.0f}"]
        share = [f"{own / GIB:.2f}" for own in (whole, few + (whole - few) * 2 * parents / columns)]
        table.add_row(f"{columns:,}", *cells, *share)
    return table


def main() -> None:
    console = Console(width=120)
    for table in (measured(), on_gpu(), eight_gpus(), sparse()):
        console.print(table)


if __name__ == "__main__":
    main()
