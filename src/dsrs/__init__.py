"""dsrs: largest provable robustness radii by Double Sampling Randomized Smoothing."""

from dsrs.certify import certify, check
from dsrs.errors import DsrsError
from dsrs.laws import GeneralizedGaussian, Rescaled, Truncated
from dsrs.records import Certificate, Interval, Observation
from dsrs.sampling import SmoothedClassifier
from dsrs.table import certify_rows, certify_table

__version__ = "0.1.0"

__all__ = [
    "Certificate",
    "DsrsError",
    "GeneralizedGaussian",
    "Interval",
    "Observation",
    "Rescaled",
    "SmoothedClassifier",
    "Truncated",
    "certify",
    "certify_rows",
    "certify_table",
    "check",
]
