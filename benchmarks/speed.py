"""`make speed`: how long a fit takes on one core, against the plain one-network-per-column loop."""

from __future__ import annotations

import argparse
import resource
import statistics
import time
from collections.abc import Callable

import torch
from rich.console import Console
from rich.table import Table

from benchmarks.reference import PlainDensity, swap_step
from knockoffs import DDLK
from knockoffs.datasets import AutoregressiveGaussian
from knockoffs.engine.swaps import GumbelSwaps

ROWS, TRAIN, FIT, FEATURES, BATCH = 2000, 1400, 1700, 100, 64
PAPER_EPOCHS = (50, 250)


def seconds(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def median_seconds(work: Callable[[], object], repeats: int) -> float:
    return statistics.median(seconds(work) for _ in range(repeats))


def plain_epochs(steps: int) -> tuple[float, float]:
    """Seconds an epoch of each stage in the plain loop, from the median of some of its steps."""
    generator = torch.Generator().manual_seed(0)
    x = torch.as_tensor(AutoregressiveGaussian(FEATURES).sample(BATCH, 0)).float()
    q_joint, q_knockoff = PlainDensity(FEATURES), PlainDensity(FEATURES, context=FEATURES)
    swaps = GumbelSwaps(FEATURES)
    joint_optimiser = torch.optim.Adam(q_joint.parameters(), lr=5e-4)
    optimiser = torch.optim.Adam(q_knockoff.parameters(), lr=1e-3)

    def joint_step() -> None:
        joint_optimiser.zero_grad()
        (-q_joint.log_prob(x).mean()).backward()
        joint_optimiser.step()

    def knockoff_step() -> None:
        optimiser.zero_grad()
        swap_step(q_joint, q_knockoff, swaps, x, generator).backward()
        optimiser.step()

    joint = median_seconds(joint_step, steps)
    q_joint.requires_grad_(False)
    return joint * TRAIN / BATCH, median_seconds(knockoff_step, steps) * TRAIN / BATCH


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3, help="fits; the median is shown")
    parser.add_argument("--steps", type=int, default=5, help="steps of the plain loop that are timed")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    x = AutoregressiveGaussian(FEATURES).sample(ROWS, random_state=0)
    models = [DDLK(device="cpu", random_state=seed) for seed in range(arguments.repeats)]
    fit = statistics.median(seconds(lambda model=model: model.fit(x[:FIT])) for model in models)
    sample = median_seconds(lambda: models[0].sample(x), 5)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    epochs = plain_epochs(arguments.steps)
    plain = sum(count * epoch for count, epoch in zip(PAPER_EPOCHS, epochs, strict=True))

    table = Table(title=f"One core, gaussian, {ROWS} rows ({FIT} fitted), {FEATURES} columns")
    for heading in ("", "measured", "at least", "aim"):
        table.add_column(heading, justify="left" if not heading else "right")
    table.add_row("fit + sampling 2000 rows, seconds", f"{fit + sample:.1f}", "60", "25")
    table.add_row("ratio to the plain loop, 50 + 250 epochs", f"{plain / (fit + sample):.0f}", "40", "150")
    table.add_row("sampling 2000 rows, seconds", f"{sample:.3f}", "0.3", "0.05")
    table.add_row("peak memory, GiB", f"{memory:.2f}", "1.5", "0.8")
    console = Console()
    console.print(table)
    console.print(
        f"plain loop: {epochs[0]:.1f} s an epoch of q_joint, {epochs[1]:.1f} s of q_knockoff "
        f"(from {arguments.steps} steps), so {plain / 60:.0f} minutes for the paper's schedule"
    )


if __name__ == "__main__":
    main()
