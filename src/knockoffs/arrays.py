"""Names for the arrays that flow through the package."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]
Indices = NDArray[np.integer[Any]]
Flags = NDArray[np.bool_]
