"""The noise generator, in NumPy, Numba and tensors: one noise, bit for bit."""
