"""The norms that perturbations are measured in."""

from __future__ import annotations

import math
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from dsrs.errors import InvalidInput
from dsrs.laws.parameters import shown

Norm = Literal["l1", "l2", "linf"]
NORMS: tuple[Norm, ...] = get_args(Norm)
_ORDER: dict[Norm, float] = {"l1": 1, "l2": 2, "linf": math.inf}


def check_norm(norm: object) -> None:
    """Raise InvalidInput unless `norm` is l1, l2 or linf."""
    if norm not in NORMS:
        raise InvalidInput(f"`norm` must be one of {', '.join(NORMS)}, got {shown(norm)}")


def norm_of(vector: NDArray[Any], norm: Norm) -> float:
    """The length of a vector in this norm."""
    return float(np.linalg.norm(vector.ravel(), _ORDER[norm]))
