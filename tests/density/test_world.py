"""A fit by several processes is that of one process."""

import json
import os
import socket
import subprocess
import sys

import pytest
import torch

from knockoffs.density.hardware import World

PROGRAM = """
import json, sys
import torch
from torch import distributed
from knockoffs import DDLK
from knockoffs.datasets import ClaytonCopula

address, rank, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
torch.set_num_threads(1)
if size > 1:
    distributed.init_process_group("gloo", init_method=address, rank=rank, world_size=size)
x = ClaytonCopula(5).sample(400, 0)
model = DDLK(joint_epochs=3, knockoff_epochs=2, hidden=(10,), device="cpu", random_state=0).fit(x)
losses = [h.train[1:] + h.held_out for h in model.history_]
print(json.dumps({"losses": losses, "sample": model.sample(x[:5]).tolist()}))
if size > 1:
    distributed.destroy_process_group()
"""


def fit(size: int) -> list[dict[str, list]]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    environment = os.environ | {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, address, str(rank), str(size)],
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )
        for rank in range(size)
    ]
    outputs = [process.communicate(timeout=300)[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * size
    return [json.loads(output.splitlines()[-1]) for output in outputs]


def test_two_processes_fit_what_one_process_fits():
    (alone,), together = fit(1), fit(2)
    assert together[0] == together[1]
    for one, two in zip(alone["losses"], together[0]["losses"], strict=True):
        assert two == pytest.approx(one, abs=1e-3)
    one, two = (torch.tensor(run["sample"]) for run in (alone, together[0]))
    torch.testing.assert_close(two, one, rtol=0, atol=1e-2)


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_every_row_of_a_batch_belongs_to_one_process(size):
    rows = torch.arange(20)
    parts = [rows[World(rank, size).part(20)] for rank in range(size)]
    assert torch.equal(torch.cat(parts), rows)
    assert max(map(len, parts)) - min(map(len, parts)) <= 1
