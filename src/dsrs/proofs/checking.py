"""Verify a certificate without any search: `check` evaluates its proof and trusts nothing else."""

from __future__ import annotations

import math

import numpy as np

from dsrs.proofs.base import CLAIM_ROUNDING, Proof
from dsrs.proofs.certificate import STATUSES, Certificate, radius_less
from dsrs.proofs.certification import neyman_pearson_radius
from dsrs.proofs.constraints import constraints_of, problem_of
from dsrs.proofs.evaluation import bound_at, neyman_pearson
from dsrs.proofs.interval import NOTHING_KNOWN, Interval

# A Neyman-Pearson radius of another version may be this much smaller, in units of sigma.
VERSION_TOLERANCE = 1e-5


def check(certificate: Certificate) -> bool:
    """Whether everything that the certificate says holds; see `find_flaw`."""
    return find_flaw(certificate) is None


def find_flaw(certificate: Certificate) -> str | None:
    """The first thing that is wrong with a certificate, or None.

    Every number is recomputed: what the proof says, how far it reaches, and the Neyman-Pearson
    radius beside it. A certificate of radius 0 claims nothing about its input.
    """
    proof, grid = certificate.proof, certificate.grid
    flaw = visible_flaw(certificate.status, certificate.radius, proof, certificate.moved)
    if flaw is not None:
        return flaw
    if grid is not None and not (
        0 < grid.step < math.inf and 0 <= grid.moved < math.inf and 0 <= grid.variation <= 1
    ):
        return f"a grid has a step, a distance and a variation in [0, 1], got {grid}"
    if proof is not None:
        flaw = proof.flaw(certificate.law)
        if flaw is not None:
            return flaw
    return _flaw_of_np_radius(certificate)


def visible_flaw(status: str, radius: float, proof: Proof | None, moved: float) -> str | None:
    """What is false of a claim at first sight, whatever its proof is worth: status and reach.

    `moved` is the l2 distance to the grid point that the proof is about.
    """
    if not radius >= 0:
        return f"a radius must be a number that is not negative, got {radius!r}"
    if status not in STATUSES:
        return f"unknown status {status!r}"
    claims = status == "certified" or (status == "short" and radius > 0)
    proved = proof is not None and proof.reach != 0
    if claims != (radius > 0) or claims != proved:
        return f"the status {status} does not fit the radius {radius!r} and its proof"
    if proof is not None and not radius <= radius_less(proof.reach, moved):
        beside = "" if not moved else f" and the distance {moved!r} to the grid"
        return f"the proof begins at {proof.reach!r}, below the radius {radius!r}{beside}"
    return None


def _flaw_of_np_radius(certificate: Certificate) -> str | None:
    """What is wrong with the Neyman-Pearson radius."""
    law, claimed, known = certificate.law, certificate.np_radius, certificate.known_of_p
    if (claimed is None) != (known == NOTHING_KNOWN):
        return f"the Neyman-Pearson radius is {claimed!r}, and P_A is known to be in {known}"
    if claimed is None:
        return None
    if not 0 <= claimed <= certificate.radius:
        return f"the Neyman-Pearson radius {claimed!r} is not from 0 to {certificate.radius!r}"
    exact = radius_less(neyman_pearson_radius(law, known.lower), certificate.moved)
    least = min(exact, certificate.radius) - VERSION_TOLERANCE * law.sigma
    if least <= claimed <= exact * (1 + CLAIM_ROUNDING):
        return None
    # Searches end a little below the optimum, and those of another version may have ended higher:
    # the multiplier of today's decides, at the radius that is claimed.
    alone = neyman_pearson(law, known.lower)
    if alone and least <= claimed < math.inf:
        problem = problem_of(law, constraints_of(law, Interval(known.lower, 1.0), ()))
        beyond = math.nextafter(claimed + certificate.moved, math.inf)
        if bound_at(law, problem, np.array(alone[0].multipliers), beyond) > 0.5:
            return None
    return f"the Neyman-Pearson radius is {exact!r}, not {claimed!r}"
