"""What long work tells of how far it is."""

from __future__ import annotations

from collections.abc import Callable

Report = Callable[[str, int, int, float | None], None]  # stage, steps done, steps at most, held-out loss
