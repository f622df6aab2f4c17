"""dsrs: largest provable robustness radii by Double Sampling Randomized Smoothing.

Names are loaded when they are first used, so that `import dsrs` costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dsrs.attack import AttackSettings, attack_input, attack_run
    from dsrs.certification import certify
    from dsrs.errors import DsrsError
    from dsrs.laws import GeneralizedGaussian, Rescaled, Truncated, Weighted
    from dsrs.proofs import check
    from dsrs.records import Certificate, Interval, Observation
    from dsrs.smoothed import SmoothedClassifier
    from dsrs.table import certify_rows, certify_table

__version__ = "0.1.0"

_HOMES = {
    "AttackSettings": "dsrs.attack",
    "Certificate": "dsrs.records",
    "DsrsError": "dsrs.errors",
    "GeneralizedGaussian": "dsrs.laws",
    "Interval": "dsrs.records",
    "Observation": "dsrs.records",
    "Rescaled": "dsrs.laws",
    "SmoothedClassifier": "dsrs.smoothed",
    "Truncated": "dsrs.laws",
    "Weighted": "dsrs.laws",
    "attack_input": "dsrs.attack",
    "attack_run": "dsrs.attack",
    "certify": "dsrs.certification",
    "certify_rows": "dsrs.table",
    "certify_table": "dsrs.table",
    "check": "dsrs.proofs",
}

__all__ = [
    "AttackSettings",
    "Certificate",
    "DsrsError",
    "GeneralizedGaussian",
    "Interval",
    "Observation",
    "Rescaled",
    "SmoothedClassifier",
    "Truncated",
    "Weighted",
    "attack_input",
    "attack_run",
    "certify",
    "certify_rows",
    "certify_table",
    "check",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'dsrs' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
