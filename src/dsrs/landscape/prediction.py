"""What each method is expected to certify under any law P, from profiles alone (docs/math.md 10).

P_A = E[a(norm)] under every isotropic law. Votes are replaced by their expected counts, rounded
down to whole hits; methods are named as in a sampling plan: `np`, `tailored`, and the laws of
double sampling (`truncated:heuristic`, `rescaled:0.8x`, ...), which share votes and alpha
half and half between P and Q. Predictions are estimates: no certificate rests on them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dsrs.confidence import clopper_pearson, clopper_pearson_lower
from dsrs.errors import InfeasibleBox
from dsrs.landscape.expected import checked_budget, expected_hits, unproved_at
from dsrs.landscape.pilot import expected_pilot_votes
from dsrs.landscape.profile import Profile
from dsrs.landscape.shells import SHELL_SCORES, cosine_of_score, normal_density, shells_of
from dsrs.landscape.tailored import best_caps, neyman_pearson_radius
from dsrs.laws import AdditionalLaw, GeneralizedGaussian, parse_additional_law
from dsrs.proofs.certification import certify
from dsrs.proofs.interval import Interval, Observation

Floats = NDArray[np.float64]

NEYMAN_PEARSON, TAILORED = "np", "tailored"
# Of the radius that the best law for the true profile has, a law chosen from pilot votes has about
# this share: 0.98 to 0.995 on the recorded models (`benchmarks/tailored.py`).
CHOSEN = 0.99
# Norms, in points of a profile, at which the limit is looked for.
LIMIT_POINTS = 400


def probability(profile: Profile, law: GeneralizedGaussian | AdditionalLaw) -> float:
    """P_A or Q_A: the mean of a(norm) over the norms of a law.

    The sum runs over equally spaced normal scores of the norm, as in `shells`.
    """
    norms = law.radial_quantile(special.ndtr(SHELL_SCORES))
    mass = normal_density(SHELL_SCORES)
    return 1 - float(special.ndtr(-profile.scores_at(norms)) @ mass / mass.sum())


def predicted_radii(
    profiles: Sequence[Profile], law: GeneralizedGaussian, method: str, n: int, alpha: float
) -> Floats:
    """The radius of each input that `method` is expected to certify with n votes in all."""
    checked_budget(n, alpha)
    norms = law.sigma * shells_of(law).norms
    misses = np.array([special.ndtr(-profile.scores_at(norms)) for profile in profiles])
    if method == NEYMAN_PEARSON:
        return _neyman_pearson_radii(misses, law, n, alpha)
    if method == TAILORED:
        return np.array([_tailored_radius(row, law, n, alpha) for row in misses])
    return np.array(
        [_double_sampling_radius(profile, law, method, n, alpha) for profile in profiles]
    )


def _neyman_pearson_radii(misses: Floats, law: GeneralizedGaussian, n: int, alpha: float) -> Floats:
    hits = expected_hits(misses @ shells_of(law).mass, n)
    unproved = 1 - np.asarray(clopper_pearson_lower(hits, n, alpha))
    return neyman_pearson_radius(law, unproved)


def _tailored_radius(misses: Floats, law: GeneralizedGaussian, n: int, alpha: float) -> float:
    """What the best law for the profile certifies with the votes that the pilot leaves, less what
    choosing it from these costs; or P, if that is more, or too few votes allow no pilot."""
    shells = shells_of(law)
    left = n - expected_pilot_votes(law, n, float(misses @ shells.mass))
    under_p = float(_neyman_pearson_radii(misses[None], law, left, alpha)[0])
    if left == n:
        return under_p
    return max(CHOSEN * law.sigma * best_caps(shells, misses, left, alpha)[0], under_p)


def _double_sampling_radius(
    profile: Profile, law: GeneralizedGaussian, method: str, n: int, alpha: float
) -> float:
    """Half of the votes under P and half under Q, each bounded from both sides at alpha / 2."""
    first, second = (n + 1) // 2, n // 2
    p_hits = int(expected_hits(np.array(1 - probability(profile, law)), first))
    p = Interval(*clopper_pearson(p_hits, first, alpha / 2))
    q_law = parse_additional_law(method, law, p.lower)
    if p.lower <= 0.5 or second == 0:
        return 0.0
    q_hits = int(expected_hits(np.array(1 - probability(profile, q_law)), second))
    q = Interval(*clopper_pearson(q_hits, second, alpha / 2))
    try:
        return certify(law, p, Observation(q_law, q)).radius
    except InfeasibleBox:
        # Rounded counts of a profile at the edge of what is possible; votes would abstain.
        return 0.0


def limit_and_norm(profile: Profile, d: int, n: int, alpha: float) -> tuple[float, float]:
    """M_n = max over norms of norm c_d(L_n(a(norm))), what no isotropic law P can exceed, and the
    norm at which it is reached: about the best size of P for this input.

    L_n(a) is the bound of n votes at their expected count. Norms are those of the profile; where a
    is 1 at the largest of them the true limit is further out.
    """
    norms, reach = reach_by_norm(profile, d, n, alpha)
    best = int(np.argmax(reach))
    return max(float(reach[best]), 0.0), float(norms[best])


def reach_by_norm(profile: Profile, d: int, n: int, alpha: float) -> tuple[Floats, Floats]:
    """Norms over the range of a profile, and norm c_d(L_n(a(norm))) at each."""
    checked_budget(n, alpha)
    norms = np.exp(np.linspace(profile.log_norms[0], profile.log_norms[-1], LIMIT_POINTS))
    misses = special.ndtr(-profile.scores_at(norms))
    scores = -special.ndtri(unproved_at(misses, n, alpha))
    return norms, norms * cosine_of_score(d, scores)
