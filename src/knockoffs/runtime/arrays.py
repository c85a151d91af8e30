"""Names for the arrays that flow through the package, and the limits of the numbers in them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]
Indices = NDArray[np.integer[Any]]
Flags = NDArray[np.bool_]

TINY = 1e-9  # a length or a deviation below it counts as none
LARGEST_WHOLE = 2.0**53  # beyond it not every whole number is a float
