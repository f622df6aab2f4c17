"""Certificates from probability intervals: Neyman-Pearson and double sampling, one at a time.

`certify` finds the largest radius and its proof; `check` verifies a proof without any search.
"""

from __future__ import annotations

import functools
import math

import numpy as np
from scipy import special

from dsrs.duality import radius as search
from dsrs.duality.bound import dual_bound
from dsrs.duality.geometry import Floats, geometry, shells
from dsrs.errors import InfeasibleBox, InvalidInput
from dsrs.laws import Component, GeneralizedGaussian
from dsrs.records import Certificate, Interval, Method, Observation, ProofStep, Status

# Room for rounding when a box touches the edge of what is feasible.
EDGE = 1e-12


def certify(law: GeneralizedGaussian, p: Interval, *additional: Observation) -> Certificate:
    """The largest l2 radius that can be proved from P_A in `p` and Q_A in each observation.

    Without observations this is the Neyman-Pearson certificate. With them it is never smaller,
    and with several never smaller than with any one of them.
    """
    for seen in additional:
        if seen.law.base != law:
            raise InvalidInput(
                f"the additional law ({seen.law.describe()}) was made for "
                f"{seen.law.base.describe()}, but P is {law.describe()}"
            )
    best = neyman_pearson(law, p.lower, len(additional))
    np_radius = best[0].radius if best else 0.0
    status: Status = "certified" if best else "abstained"
    method: Method = "neyman-pearson"
    groups: list[tuple[int, ...]] = [(i,) for i in range(len(additional))]
    if len(additional) > 1:
        groups.append(tuple(range(len(additional))))
    for group in groups:
        proof, outcome = _double_sampling(law, p, additional, group)
        if proof and (not best or proof[0].radius > best[0].radius):
            best, status, method = proof, "certified", "double-sampling"
        elif not best and outcome == search.UNDECIDED:
            status = "undecided"
    return Certificate(
        law=law,
        p=p,
        additional=additional,
        radius=best[0].radius if best else 0.0,
        np_radius=np_radius,
        status=status,
        method=method,
        proof=best,
    )


def check(certificate: Certificate) -> bool:
    """Whether the proof holds: evaluates the dual bound at its steps, and searches nothing.

    True for an abstention, which claims nothing.
    """
    law, proof = certificate.law, certificate.proof
    if certificate.radius == 0:
        return True
    if not proof or proof[0].radius < certificate.radius:
        return False
    lowers, uppers = _box(certificate.p, certificate.additional)
    table = shells(law, tuple(seen.law for seen in certificate.additional))
    multipliers = [np.array(step.multipliers) for step in proof]
    if math.isinf(certificate.radius):
        # A class that is right almost everywhere under a law of full support is right everywhere.
        sure = (table[:, 4] == np.inf) & (table[:, 3] == -np.inf) & (lowers == 1)
        return bool(np.any(sure & (multipliers[0] == np.inf)))
    if search.is_solid(table, multipliers[0]):
        return _bound(law, table, lowers, uppers, multipliers[0], proof[0].radius) > 0.5
    reach = geometry(law).shift_rate / law.scale
    for n, step in enumerate(proof):
        margin = _bound(law, table, lowers, uppers, multipliers[n], step.radius) - 0.5
        if not margin > 0:
            return False
        if search.is_solid(table, multipliers[n]):
            return True
        if n + 1 == len(proof) or proof[n + 1].radius < step.radius - margin / reach:
            return False
    return False


def neyman_pearson(
    law: GeneralizedGaussian, p_lower: float, zeros: int = 0
) -> tuple[ProofStep, ...]:
    """The Neyman-Pearson radius and its proof, empty when P_A may be 1/2 or less.

    `zeros` multipliers of additional laws that the proof does not use are appended.
    """
    if p_lower <= 0.5:
        return ()
    if p_lower == 1:
        return (ProofStep(math.inf, (math.inf,) + (0.0,) * zeros, 1.0),)
    geometry(law)  # refuses a law that the kernels do not know
    ratio, multiplier, bound = _unit_neyman_pearson(law.d, law.k, p_lower)
    if ratio == 0:
        return ()
    radius = math.nextafter(ratio * law.sigma, 0.0)
    return (ProofStep(radius, (multiplier,) + (0.0,) * zeros, bound),)


@functools.lru_cache(maxsize=200_000)
def _unit_neyman_pearson(d: int, k: float, p_lower: float) -> tuple[float, float, float]:
    """Radius in units of sigma, multiplier and dual bound. Zeros when nothing can be proved."""
    law = GeneralizedGaussian(d, 1.0, k)
    if k == 0:
        # Closed form sigma z with lambda = exp(z^2/2), a little less so that the proof checks.
        z = float(special.ndtri(p_lower))
        radius = z * (1 - 1e-13) - 1e-13
        if radius <= 0:
            return 0.0, 0.0, 0.0
        multiplier = math.exp(radius * (z - radius / 2))
        return radius, multiplier, _gaussian_bound(p_lower, multiplier, radius)
    steps = np.empty((1, 3))
    guess = float(special.ndtri(p_lower)) / law.scale  # the Gaussian radius
    box = np.array([p_lower]), np.array([1.0])
    rho, _, count = search.largest_radius(geometry(law), shells(law, ()), *box, 0.0, guess, steps)
    if not count:
        return 0.0, 0.0, 0.0
    radius = math.nextafter(rho * law.scale * (1 - 1e-15), 0.0)
    return radius, float(steps[0, 2]), float(steps[0, 1])


def _double_sampling(
    law: GeneralizedGaussian,
    p: Interval,
    additional: tuple[Observation, ...],
    group: tuple[int, ...],
) -> tuple[tuple[ProofStep, ...], int]:
    """The best proof from P and the observations of `group`, and the outcome of the search."""
    seen = tuple(additional[i] for i in group)
    laws = tuple(each.law for each in seen)
    places = [0, *(i + 1 for i in group)]
    width = len(additional) + 1
    least = max(p.lower, *(_least_probability(p, each) for each in seen))
    if least <= 0.5 and len(seen) == 1:
        # P_A itself may be 1/2 or less: not even a shift of length 0 can be certified.
        return (), search.ABSTAINED
    full = [i for i, each in enumerate(laws) if each.full_support]
    for i in full:
        if seen[i].interval.lower == 1 or laws[i].components() == (Component.gamma(law.m, law.m),):
            # Certain under a law of full support, or Q is P itself: Neyman-Pearson with Q-.
            proof = neyman_pearson(law, seen[i].interval.lower)
            return tuple(
                ProofStep(s.radius, _spread(s.multipliers, [places[i + 1]], width), s.dual_bound)
                for s in proof
            ), search.CERTIFIED if proof else search.ABSTAINED
    floor = 0.0
    solid = neyman_pearson(law, p.lower)
    if solid:
        floor = solid[0].radius / law.scale
        if math.isinf(floor):
            return (), search.ABSTAINED
    lowers, uppers = _box(p, seen)
    table = shells(law, laws)
    steps = np.empty((search.LONGEST_CHAIN, len(seen) + 3))
    _, outcome, count = search.largest_radius(
        geometry(law), table, lowers, uppers, floor, 0.0, steps
    )
    if outcome == search.INFEASIBLE:
        raise InfeasibleBox("no classifier has probabilities inside all the given intervals")
    proof = tuple(
        ProofStep(
            math.nextafter(step[0] * law.scale * (1 - 1e-15), 0.0),
            _spread(tuple(step[2:].tolist()), places, width),
            float(step[1]),
        )
        for step in steps[:count]
    )
    if proof and not search.is_solid(table, steps[0, 2:]) and solid:
        # The chain of hollow steps ends where Neyman-Pearson takes over.
        end = solid[0]
        proof += (ProofStep(end.radius, _spread(end.multipliers, [0], width), end.dual_bound),)
    return proof, outcome


def _spread(values: tuple[float, ...], places: list[int], width: int) -> tuple[float, ...]:
    """`values` at `places` of a tuple of zeros."""
    spread = [0.0] * width
    for place, value in zip(places, values, strict=True):
        spread[place] = float(value)
    return tuple(spread)


def _box(p: Interval, seen: tuple[Observation, ...]) -> tuple[Floats, Floats]:
    intervals = (p, *(each.interval for each in seen))
    return (
        np.array([interval.lower for interval in intervals], dtype=np.float64),
        np.array([interval.upper for interval in intervals], dtype=np.float64),
    )


def _bound(
    law: GeneralizedGaussian,
    table: Floats,
    lowers: Floats,
    uppers: Floats,
    multipliers: Floats,
    radius: float,
) -> float:
    """What these multipliers prove at a shift of length `radius`."""
    if law.is_gaussian and not np.any(multipliers[1:]) and multipliers[0] > 0:
        return _gaussian_bound(float(lowers[0]), float(multipliers[0]), radius / law.sigma)
    return float(dual_bound(geometry(law), table, lowers, uppers, multipliers, radius / law.scale))


def _gaussian_bound(p_lower: float, multiplier: float, ratio: float) -> float:
    """B for k = 0 and P alone, in closed form and rounded down; `ratio` is r / sigma."""
    z = math.log(multiplier) / ratio + ratio / 2
    tail, missing = float(special.ndtr(-z)), 1 - p_lower
    value = multiplier * (tail - missing) + float(special.ndtr(z - ratio))
    return value - 4e-15 * (1 + multiplier * missing)


def _least_probability(p: Interval, seen: Observation) -> float:
    """The least P_A that Q_A in its interval allows; raises when none in `p` fits."""
    q = seen.interval
    p_least, p_most = seen.law.p_range(q.lower, q.upper)
    if p.upper < p_least - EDGE or p.lower > p_most + EDGE:
        raise InfeasibleBox(
            f"no classifier has P_A in [{p.lower:.6g}, {p.upper:.6g}] and Q_A in "
            f"[{q.lower:.6g}, {q.upper:.6g}] under Q {seen.law.describe()}: this Q_A allows P_A in "
            f"[{p_least:.6g}, {p_most:.6g}] only"
        )
    return p_least
