"""Certificates from bounds of probabilities: a search for a proof, and what it claims."""

from __future__ import annotations

from dataclasses import replace

from dsrs.errors import InvalidInput
from dsrs.laws import AdditionalLaw, GeneralizedGaussian
from dsrs.proofs.base import Proof
from dsrs.proofs.certificate import Certificate, OnGrid, Status, radius_less
from dsrs.proofs.dual import find_dual
from dsrs.proofs.evaluation import neyman_pearson
from dsrs.proofs.interval import NOTHING_KNOWN, Interval, Observation


def certify(law: GeneralizedGaussian, p: Interval, *additional: Observation) -> Certificate:
    """The largest radius that can be proved from P_A in `p` and Q_A in each observation.

    Without observations this is the Neyman-Pearson certificate. With them it is never smaller, and
    with several never smaller than with any one of them.

    Args:
        law: the smoothing law P.
        p: an interval of the probability of the class under P.
        additional: intervals of its probability under other laws.
    """
    if not isinstance(law, GeneralizedGaussian) or not isinstance(p, Interval):
        given = ", ".join(type(each).__name__ for each in (law, p))
        raise InvalidInput(f"expected a smoothing law and an Interval, got {given}")
    proof, decided, complete = find_dual(law, p, *additional)
    return certificate_of(law, proof, decided=decided, complete=complete)


def certificate_of(
    law: GeneralizedGaussian, proof: Proof, *, decided: bool = True, complete: bool = True
) -> Certificate:
    """The certificate that a proof makes true.

    Args:
        law: the smoothing law P.
        proof: a proof of any kind; where it proves nothing, the certificate is an abstention.
        decided: whether more could not have been proved where nothing is.
        complete: whether no larger radius is known to be possible.
    """
    status: Status = "abstained" if decided else "undecided"
    if proof.reach > 0:
        status = "certified"
    np_radius = None
    if proof.known_of_p != NOTHING_KNOWN:
        np_radius = min(neyman_pearson_radius(law, proof.known_of_p.lower), proof.reach)
    return Certificate(law, status, proof.reach, np_radius, proof, complete=complete)


def neyman_pearson_radius(law: GeneralizedGaussian, p_lower: float) -> float:
    """What a lower bound of P_A proves alone."""
    alone = neyman_pearson(law, p_lower)
    return alone[0].radius if alone else 0.0


def abstention(law: GeneralizedGaussian, *additional: AdditionalLaw) -> Certificate:
    """A certificate that claims nothing, from nothing known under P and these laws."""
    return certify(law, NOTHING_KNOWN, *(Observation(q, NOTHING_KNOWN) for q in additional))


def from_grid_point(certificate: Certificate, note: OnGrid) -> Certificate:
    """The certificate of an input from that of the grid point which stands for it.

    A ball around the grid point holds the ball around the input whose radius is less by their
    distance. Where nothing is left, it is an abstention.
    """
    away = note.moved
    radius = radius_less(certificate.radius, away)
    if radius > 0 or certificate.radius == 0:
        np_radius = certificate.np_radius
        np_radius = None if np_radius is None else radius_less(np_radius, away)
        return replace(certificate, radius=radius, np_radius=np_radius, grid=note)
    laws = (seen.law for seen in certificate.observations)
    return replace(abstention(certificate.law, *laws), grid=note)
