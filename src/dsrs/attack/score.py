"""The score of a smoothing law: what turns votes into the gradient of a probability.

Let e be noise with density p(e) ~ |e|^(-2k) exp(-(|e|/s)^eta) and P_A(delta) = E f(x + delta + e).
Moving the derivative from f to p (Stein) gives

    grad P_A = E[f g(e)],   g(e) = -grad log p(e) = (2k / |e|^2 + eta |e|^(eta - 2) / s^eta) e,

for any f, so votes are enough. For the Gaussian g(e) = e / sigma^2. Near 0 |g| grows like 2k/|e|,
whose variance is finite only for d - 2k > 2 (m > 1 for eta = 2). Norms below the law's quantile
LEAST_NORM_QUANTILE are therefore counted as if they were at it. That changes the weight of a few
votes, whose noise is so short that their answer hardly depends on its direction.

For noise that is round in l1 or l-infinity the same weights times e are no gradient, but still
point where the probability falls: E[f e] weighs each coordinate by how much it matters. A search
may use any direction; what it finds is proved by votes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dsrs.laws import GeneralizedGaussian

Floats = NDArray[np.float64]

LEAST_NORM_QUANTILE = 0.02


class Score:
    """g(e) / e by the norm of e, for one law."""

    def __init__(self, law: GeneralizedGaussian) -> None:
        self._law = law
        self._least = float(law.radial_quantile(LEAST_NORM_QUANTILE))

    def weights(self, norms: Floats) -> Floats:
        """|g(e)| / |e| for noise of these norms."""
        law = self._law
        if law.is_gaussian:
            return np.full(len(norms), law.sigma**-2.0)
        kept = np.maximum(norms, self._least)
        unit = law.scale * np.sqrt(2.0)
        size = 2 * law.k / kept + law.eta / unit * (kept / unit) ** (law.eta - 1)
        return np.asarray(size / np.maximum(norms, np.finfo(np.float64).tiny))
