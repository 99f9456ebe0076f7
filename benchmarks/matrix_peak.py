"""How fast a library multiplies large matrices: the bound of what it can compute."""

import time

SIZE = 2048  # rows and columns
OPERATIONS = 2 * SIZE**3  # of one product


def matrix_peak(multiply, matrix, attempts=5):
    """Return the speed of the fastest of some products, in GFLOP/s.

    Args:
        multiply: function of two matrices.
        matrix: float32, square, of `SIZE` rows.
        attempts: number of products.
    """
    seconds = []
    for _ in range(attempts):
        start = time.perf_counter()
        multiply(matrix, matrix)
        seconds.append(time.perf_counter() - start)
    return OPERATIONS / min(seconds) / 1e9
