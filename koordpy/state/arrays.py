"""The array types of the columns; shapes are written beside each use, as `[R, N]`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
# Some rows, or all of them: a slice reads a column in place, where an index array would copy it.
Rows = Ints | slice
Bools = npt.NDArray[np.bool_]
