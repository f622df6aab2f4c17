"""dsrs: largest provable robustness radii by Double Sampling Randomized Smoothing."""

__version__ = "0.1.0"
