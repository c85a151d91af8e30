"""Seconds of a fit on a GPU: 100 columns by 2,000 rows, and 1,000 columns by 10,000 rows."""

from __future__ import annotations

import argparse
import time

import torch

from knockoffs import DDLK
from knockoffs.datasets import AutoregressiveGaussian


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--sizes", nargs="+", default=["2000x100", "10000x1000"])
    arguments = parser.parse_args()
    for size in arguments.sizes:
        rows, features = map(int, size.split("x"))
        law = AutoregressiveGaussian(features)
        x = law.sample(rows + 1000, random_state=0)
        for repeat in ("first", "second"):  # the first pays for the device's start
            model = DDLK(device=arguments.device, random_state=0)
            begun = time.perf_counter()
            model.fit(x[:rows])
            fitted = time.perf_counter()
            model.sample(x[:rows])
            sampled = time.perf_counter()
            excess = (law.log_prob(x[rows:]) - model.joint_log_prob(x[rows:])).mean()
            print(
                f"{size} {repeat}: fit {fitted - begun:.1f} s, sample {sampled - fitted:.2f} s, "
                f"held-out NLL above the truth {excess:.2f}, "
                f"swap divergence {model.swap_divergence(x[rows:]).value:.3f}, "
                f"epochs {[len(h.train) - 1 for h in model.history_]}",
                flush=True,
            )
    if arguments.device == "cuda":
        print(
            f"{torch.cuda.get_device_name()}, peak "
            f"{torch.cuda.max_memory_allocated() / 2**30:.1f} GiB"
        )


if __name__ == "__main__":
    main()
