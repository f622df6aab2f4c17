"""Certificates in other norms, by Monte Carlo."""

from dsrs.other_norms.law import NormLaw
from dsrs.other_norms.monte_carlo import (
    MonteCarloCertificate,
    SeenUnder,
    certify_by_monte_carlo,
)

__all__ = ["MonteCarloCertificate", "NormLaw", "SeenUnder", "certify_by_monte_carlo"]
