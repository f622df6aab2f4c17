"""Training of base classifiers for smoothing (extra `train`)."""
