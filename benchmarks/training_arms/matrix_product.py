"""The products of large matrices that NumPy does: the machine's peak."""

import numpy as np

from benchmarks.matrix_peak import OPERATIONS, SIZE

PRODUCTS = 20


class MatrixProducts:
    """Multiplies float32 matrices, as many as take a second or so.

    Args:
        task: a `TrainingTask`, which does not matter.
    """

    operations = PRODUCTS * OPERATIONS

    def __init__(self, task):
        rng = np.random.default_rng(1)
        self._matrix = rng.normal(size=(SIZE, SIZE)).astype("float32")
        self._product = np.empty_like(self._matrix)

    def __call__(self):
        """Multiply; there is no loss."""
        for _ in range(PRODUCTS):
            np.matmul(self._matrix, self._matrix, out=self._product)
