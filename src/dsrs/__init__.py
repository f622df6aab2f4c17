"""dsrs: largest provable robustness radii by Double Sampling Randomized Smoothing.

Names and packages are loaded when they are first used, so that `import dsrs` costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING as _TYPE_CHECKING

from dsrs._lazy import exports as _exports

if _TYPE_CHECKING:
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
    from dsrs.proofs import Certificate as Certificate
    from dsrs.proofs import Interval as Interval
    from dsrs.proofs import Observation as Observation
    from dsrs.proofs import certify as certify
    from dsrs.proofs import certify_rows as certify_rows
    from dsrs.proofs import certify_table as certify_table
    from dsrs.proofs import least_probability as least_probability
    from dsrs.reports import compare as compare
    from dsrs.reports import gate as gate
    from dsrs.smoothed import CertifiedRun as CertifiedRun
    from dsrs.smoothed import SmoothedClassifier as SmoothedClassifier
    from dsrs.smoothed import load_demo as load_demo
    from dsrs.smoothed import smooth as smooth
else:
    # The packages are those that documentation and users reach as dsrs.PACKAGE.
    __all__, __getattr__, __dir__ = _exports(
        __name__,
        packages=(
            *("certifying", "classifiers", "confidence", "conformal", "datasets", "evidence"),
            "exchange",
            *("landscape", "laws", "measures", "methods", "reports", "smoothed", "store"),
            *("training", "tuning", "votes"),
        ),
    )

__version__ = "1.0.0"
