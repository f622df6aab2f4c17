"""How the command line names noise laws: the options of P, and the forms of Q."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dsrs.laws import GeneralizedGaussian

LAW_FORMS = """\
laws: truncated:0.8 (share of the mass), truncated:T=31.8 (radius), truncated:heuristic (the
paper's choice from the lower bound of P_A), rescaled:0.4 (another sigma), rescaled:0.8x (times
sigma), weighted:T:W,T:W,... (P weighted by a line through the log weights W at shells T).
"""


def add_law_options(group: argparse._ActionsContainer, *, size: str = "noise size") -> None:
    """--sigma, --k and --eta of the smoothing law P."""
    group.add_argument("--sigma", type=float, required=True, help=size)
    group.add_argument(
        "--k", type=float, default=0.0, help="exponent, 0 <= k < d/2; 0 (default) is Gaussian"
    )
    group.add_argument(
        "--eta",
        type=float,
        default=2.0,
        help="density |x|^(-2k) exp(-(|x|/s)^eta), eta from 0.5 to 8; 2 (default) is Gaussian",
    )


def law_from(arguments: argparse.Namespace, d: int) -> GeneralizedGaussian:
    """The smoothing law of these options in dimension d."""
    from dsrs.laws import GeneralizedGaussian

    return GeneralizedGaussian(d, arguments.sigma, arguments.k, arguments.eta)
