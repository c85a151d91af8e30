"""Names for the arrays that flow through the package, and the limit of whole numbers in them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]
Indices = NDArray[np.integer[Any]]
Flags = NDArray[np.bool_]

LARGEST_WHOLE = 2.0**53  # beyond it not every whole number is a float
