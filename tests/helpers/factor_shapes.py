"""Shapes of the factors of matrix products, where kernels that cut them go wrong first."""

SHAPES = [
    (1, 1, 2),
    (1, 33, 2),
    (3, 16, 4),
    (13, 31, 6),
    (14, 32, 34),
    (15, 33, 66),
    (70, 257, 258),
    (401, 64, 1026),
    (29, 1000, 512),
]
"""Rows, columns and what is summed over: around the sizes of groups, blocks, panels and the 16 lanes of a register."""
