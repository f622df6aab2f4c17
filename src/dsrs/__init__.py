"""dsrs: largest provable robustness radii by Double Sampling Randomized Smoothing.

Names and rooms are loaded when they are first used, so that `import dsrs` costs next to nothing.
"""

from __future__ import annotations

import importlib as _importlib
from typing import TYPE_CHECKING as _TYPE_CHECKING

if _TYPE_CHECKING:
    from typing import Any

    from dsrs.attack import AttackSettings as AttackSettings
    from dsrs.attack import attack_input as attack_input
    from dsrs.attack import attack_run as attack_run
    from dsrs.errors import DsrsError as DsrsError
    from dsrs.evidence import Checked as Checked
    from dsrs.evidence import Verdict as Verdict
    from dsrs.evidence import check as check
    from dsrs.laws import GeneralizedGaussian as GeneralizedGaussian
    from dsrs.laws import Rescaled as Rescaled
    from dsrs.laws import Truncated as Truncated
    from dsrs.laws import Weighted as Weighted
    from dsrs.proofs.certificate import Certificate as Certificate
    from dsrs.proofs.certification import certify as certify
    from dsrs.proofs.interval import Interval as Interval
    from dsrs.proofs.interval import Observation as Observation
    from dsrs.proofs.least_probability import least_probability as least_probability
    from dsrs.proofs.table import certify_rows as certify_rows
    from dsrs.proofs.table import certify_table as certify_table
    from dsrs.reports.comparing import compare as compare
    from dsrs.reports.gating import gate as gate
    from dsrs.smoothed.certified_run import CertifiedRun as CertifiedRun
    from dsrs.smoothed.classifier import SmoothedClassifier as SmoothedClassifier
    from dsrs.smoothed.smoothing import load_demo as load_demo
    from dsrs.smoothed.smoothing import smooth as smooth

__version__ = "1.0.0"

# The home of every public name, and the rooms that documentation and users reach as dsrs.ROOM.
_HOMES = {
    "dsrs.attack": ("AttackSettings", "attack_input", "attack_run"),
    "dsrs.errors": ("DsrsError",),
    "dsrs.evidence": ("Checked", "Verdict", "check"),
    "dsrs.laws": ("GeneralizedGaussian", "Rescaled", "Truncated", "Weighted"),
    "dsrs.proofs.certificate": ("Certificate",),
    "dsrs.proofs.certification": ("certify",),
    "dsrs.proofs.interval": ("Interval", "Observation"),
    "dsrs.proofs.least_probability": ("least_probability",),
    "dsrs.proofs.table": ("certify_rows", "certify_table"),
    "dsrs.reports.comparing": ("compare",),
    "dsrs.reports.gating": ("gate",),
    "dsrs.smoothed.certified_run": ("CertifiedRun",),
    "dsrs.smoothed.classifier": ("SmoothedClassifier",),
    "dsrs.smoothed.smoothing": ("load_demo", "smooth"),
}
_NAMES = {name: home for home, names in _HOMES.items() for name in names}
_ROOMS = (
    *("certifying", "classifiers", "confidence", "conformal", "datasets", "exchange", "landscape"),
    *("laws", "measures", "methods", "reports", "smoothed", "store", "training"),
    *("tuning", "votes"),
)

__all__ = [*_NAMES]


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        value = getattr(_importlib.import_module(_NAMES[name]), name)
    elif name in _ROOMS:
        value = _importlib.import_module(f"dsrs.{name}")
    else:
        raise AttributeError(f"module 'dsrs' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*_NAMES, *_ROOMS, "__version__"])
