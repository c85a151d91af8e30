"""Which device tensors live on, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import torch

DeviceName: TypeAlias = "str | torch.device | None"


def torch_device(name: DeviceName) -> torch.device:
    """`"auto"` or None (CUDA where there is one), `"cpu"`, `"cuda"`, `"cuda:N"`,
    or such a `torch.device`.
    """
    import torch  # only now: what asks for no device does without

    if name is None or name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name) if isinstance(name, (str, torch.device)) else None
    except RuntimeError:  # a name that torch does not know
        device = None
    if device is None or device.type not in ("cpu", "cuda"):
        raise ValueError(f"device={name!r} is not valid: pass 'auto', 'cpu', 'cuda' or 'cuda:N'.")
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ValueError(
            f"device={name!r}, but this machine has no CUDA device that torch can use. "
            "Pass device='cpu', or 'auto' to use CUDA only where there is one."
        )
    return device
