"""What a profile says of noise laws: probabilities, misses, and what no law can exceed.

P_A = E[a(norm)] under every isotropic law (docs/math.md 10). Predictions are estimates: no
certificate rests on them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dsrs.landscape.expected import checked_budget, unproved_at
from dsrs.landscape.profile import Profile
from dsrs.landscape.shells import SHELL_SCORES, cosine_of_score, normal_density, shells_of
from dsrs.laws import AdditionalLaw, GeneralizedGaussian

Floats = NDArray[np.float64]

# Norms, in points of a profile, at which the limit is looked for.
LIMIT_POINTS = 400


def probability(profile: Profile, law: GeneralizedGaussian | AdditionalLaw) -> float:
    """P_A or Q_A: the mean of a(norm) over the norms of a law.

    The sum runs over equally spaced normal scores of the norm, as in `shells`.
    """
    norms = law.radial_quantile(special.ndtr(SHELL_SCORES))
    mass = normal_density(SHELL_SCORES)
    return 1 - float(special.ndtr(-profile.scores_at(norms)) @ mass / mass.sum())


def misses_by_shell(profiles: Sequence[Profile], law: GeneralizedGaussian) -> Floats:
    """How often votes miss on each shell of P: a row for each profile."""
    norms = law.sigma * shells_of(law).norms
    return np.array([special.ndtr(-profile.scores_at(norms)) for profile in profiles])


def limit_and_norm(profile: Profile, d: int, n: int, alpha: float) -> tuple[float, float]:
    """M_n = max over norms of norm c_d(L_n(a(norm))), what no isotropic law P can exceed, and the
    norm at which it is reached: about the best size of P for this input.

    L_n(a) is the bound of n votes at their expected count. Norms are those of the profile; where a
    is 1 at the largest of them the true limit is further out.
    """
    checked_budget(n, alpha)
    norms = np.exp(np.linspace(profile.log_norms[0], profile.log_norms[-1], LIMIT_POINTS))
    misses = special.ndtr(-profile.scores_at(norms))
    scores = -special.ndtri(unproved_at(misses, n, alpha))
    reach = norms * cosine_of_score(d, scores)
    best = int(np.argmax(reach))
    return max(float(reach[best]), 0.0), float(norms[best])
