"""Laws by name, as the command line and tables write them."""

from __future__ import annotations

from collections.abc import Callable

from dsrs.errors import UnknownLaw
from dsrs.laws.additional import AdditionalLaw
from dsrs.laws.generalized_gaussian import GeneralizedGaussian
from dsrs.laws.rescaled import Rescaled
from dsrs.laws.truncated import Truncated

# A new law is added here under its `kind`.
KINDS: dict[str, Callable[[GeneralizedGaussian, float], AdditionalLaw]] = {
    "truncated": Truncated,
    "rescaled": Rescaled,
}


def additional_law(kind: str, value: float, base: GeneralizedGaussian) -> AdditionalLaw:
    """The additional law of this kind; `value` is a percentile (truncated) or beta (rescaled)."""
    if kind not in KINDS:
        raise UnknownLaw(f"`q_shape` must be one of {', '.join(sorted(KINDS))}, got {kind!r}")
    return KINDS[kind](base, value)


def parse_additional_law(
    text: str, base: GeneralizedGaussian, p_lower: float | None = None
) -> AdditionalLaw:
    """Read `truncated:0.8`, `truncated:T=12.5`, `truncated:heuristic`, `rescaled:0.4`.

    `truncated:heuristic` (and `truncated:paper-heuristic`) need the lower bound of P_A.
    """
    kind, colon, value = text.partition(":")
    if kind not in KINDS or not colon:
        raise UnknownLaw(
            f"a law is written KIND:VALUE with KIND one of {', '.join(sorted(KINDS))} "
            f"(for example truncated:0.8 or rescaled:0.4), got {text!r}"
        )
    if kind == "truncated" and value in ("heuristic", "paper-heuristic"):
        if p_lower is None:
            raise UnknownLaw(f"{text!r} needs the lower bound of P_A")
        rule = "recorded" if value == "heuristic" else "paper"
        return Truncated.by_heuristic(base, p_lower, rule)  # type: ignore[arg-type]
    at_radius = kind == "truncated" and value.upper().startswith("T=")
    try:
        number = float(value[2:] if at_radius else value)
    except ValueError:
        raise UnknownLaw(f"expected a number after {kind + ':'!r}, got {value!r}") from None
    if at_radius:
        return Truncated.at_radius(base, number)
    return additional_law(kind, number, base)
