"""The kinds of smoothing law P, by their names in JSON.

Noise, kernels and landscape know P by its d, sigma, k and eta: its density at x is proportional to
|x|^(-2k) exp(-(|x| / s)^eta). A new kind is a subclass of
`GeneralizedGaussian` in a file of its own, which has a `kind`, parameters of its own for such a
law, `to_dict` and `from_dict`; and a line here. The JSON of a plain `GeneralizedGaussian` names no
kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from dsrs.errors import InvalidInput, UnknownLaw
from dsrs.laws.generalized_gaussian import GeneralizedGaussian
from dsrs.laws.parameters import shown

Kind = TypeVar("Kind", bound=type[GeneralizedGaussian])

# A new kind is added here.
SMOOTHING_KINDS: dict[str, type[GeneralizedGaussian]] = {
    GeneralizedGaussian.kind: GeneralizedGaussian
}


def register_smoothing(law: Kind) -> Kind:
    """Make a smoothing law of another package known to plans, runs and certificates."""
    if SMOOTHING_KINDS.get(law.kind, law) is not law:
        raise InvalidInput(f"there is a smoothing law of kind {law.kind!r} already")
    SMOOTHING_KINDS[law.kind] = law
    return law


def smoothing_law_from_dict(fields: Any) -> GeneralizedGaussian:
    """The smoothing law that `to_dict` was made from."""
    kind = fields.get("kind") if isinstance(fields, Mapping) else None
    if kind is None:
        return GeneralizedGaussian.from_dict(fields)
    if not isinstance(kind, str) or kind not in SMOOTHING_KINDS:
        raise UnknownLaw(
            f"the `kind` of a smoothing law must be one of {', '.join(SMOOTHING_KINDS)}, got "
            f"{shown(kind)}"
        )
    return SMOOTHING_KINDS[kind].from_dict(fields)
