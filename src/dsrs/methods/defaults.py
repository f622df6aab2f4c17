"""What a plan says unless it is told otherwise, from Python and on the command line.

Nothing that takes time is imported here, so that `--help` prints these numbers at once.
"""

from typing import Literal

Target = Literal["label", "predicted"]
Classes = Literal["top", "all"]

NEYMAN_PEARSON, TAILORED = "np", "tailored"

DEFAULT_METHODS = (NEYMAN_PEARSON, TAILORED)
N = 100_000
N0 = 100
ALPHA = 0.001
SEED = 0
SAMPLE_SHARE = 0.5
ALPHA_SHARE = 0.5
# Of these the first one each.
TARGETS: tuple[Target, ...] = ("label", "predicted")
CLASSES: tuple[Classes, ...] = ("top", "all")
PRECISION = 0.01  # of an adaptive run without radii; a plan has none by itself
PREDICTION_VOTES = 1000  # of one answer, at most
