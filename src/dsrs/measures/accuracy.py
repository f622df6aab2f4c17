"""Certified accuracy, in one place for runs, reports and the paper's tables.

Certified accuracy at r is the share of inputs that are certified for their label with a radius of
at least r (paper, Section 6); abstained and undecided inputs count for nothing, also at r = 0. An
input that is short of the radius it was asked for counts up to what was proved. It is not the clean
accuracy, the share of inputs whose predicted class is the label: a right prediction may have no
certificate. The average certified radius counts all other inputs as 0 (Zhai et al. 2020).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

BELOW_EVERY_RADIUS = -np.inf  # below every radius, also below 0
NO_CERTIFICATE = "abstained"  # how an input ended that has none: it has no prediction


def proves(status: str | None, radius: float | None) -> bool:
    """Whether an answer proves its radius; one that is short of what was asked may still do."""
    return status == "certified" or (status == "short" and bool(radius))


def proved_radius(status: str | None, radius: float, for_label: bool) -> float:
    """The radius that counts: that of a certificate for the label, and else BELOW_EVERY_RADIUS."""
    return radius if for_label and proves(status, radius) else BELOW_EVERY_RADIUS


def certified_at(proved: ArrayLike, radii: Sequence[float]) -> NDArray[np.bool_]:
    """Return which inputs are certified at which radii: a row for each input, a column for each
    radius."""
    certified: NDArray[np.bool_] = np.asarray(proved)[:, None] >= np.asarray(radii)[None, :]
    return certified


def counted_radii(proved: ArrayLike) -> NDArray[np.float64]:
    """The radii that the average is taken over."""
    return np.maximum(np.asarray(proved, dtype=np.float64), 0.0)


def round_step(largest: float, most: int, factors: Sequence[float] = (1, 2, 2.5, 5, 10)) -> float:
    """The least round step whose multiples reach `largest` in fewer than `most` steps."""
    power = 10.0 ** math.floor(math.log10(largest / most))
    return next(factor * power for factor in factors if largest / (factor * power) < most)
