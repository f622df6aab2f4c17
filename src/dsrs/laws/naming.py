"""Laws by name: text of the command line and of tables, and JSON. The one place that reads them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, TypeVar

from dsrs.errors import InvalidInput, UnknownLaw
from dsrs.laws.additional import AdditionalLaw
from dsrs.laws.generalized_gaussian import GeneralizedGaussian
from dsrs.laws.parameters import real_number, shown
from dsrs.laws.rescaled import Rescaled
from dsrs.laws.truncated import Truncated
from dsrs.laws.weighted import Weighted

Law = TypeVar("Law", bound=type[AdditionalLaw])
LONGEST_SHOWN = 26  # letters; truncated:paper-heuristic has 25

# A new law is added here.
LAW_KINDS: dict[str, type[AdditionalLaw]] = {
    law.kind: law for law in (Truncated, Rescaled, Weighted)
}


def register(law: Law) -> Law:
    """Make a law of another package known to all commands and formats, under its `kind`."""
    if LAW_KINDS.get(law.kind, law) is not law:
        raise InvalidInput(f"there is a law of kind {law.kind!r} already")
    LAW_KINDS[law.kind] = law
    return law


def names_a_law(text: str) -> bool:
    """Whether this is the text of an additional law, `KIND:VALUE`, of a kind that is known."""
    kind, colon, _ = text.partition(":")
    return bool(colon) and kind in LAW_KINDS


def chosen_from_votes(text: str) -> bool:
    """Whether the law of this text is chosen from the votes under P, by a heuristic."""
    kind, _, value = text.partition(":")
    return names_a_law(text) and LAW_KINDS[kind].depends_on_votes(value)


def parse_additional_law(
    text: str, base: GeneralizedGaussian, p_lower: float | None = None
) -> AdditionalLaw:
    """Read an additional law from its text.

    Args:
        text: `truncated:0.8`, `truncated:T=12.5`, `truncated:heuristic`, `rescaled:0.4`,
            `rescaled:0.8x` (times sigma), or `weighted:...` (see `Weighted`).
        base: the smoothing law P.
        p_lower: a lower bound of P_A, from which `truncated:heuristic` and
            `truncated:paper-heuristic` choose.
    """
    kind, _, value = text.partition(":")
    if not names_a_law(text):
        raise UnknownLaw(
            f"a law is written KIND:VALUE with KIND one of {', '.join(sorted(LAW_KINDS))} "
            f"(for example truncated:0.8 or rescaled:0.4), got {shown(text)}"
        )
    try:
        return LAW_KINDS[kind].from_text(value, base, p_lower)
    except InvalidInput:
        raise
    except ValueError:
        raise UnknownLaw(
            f"expected a number after {kind + ':'!r}, such as truncated:0.8, got {shown(value)}"
        ) from None


def short_law_text(text: str) -> str:
    """The text of a law (or of a method) for a table: at most a few digits and words.

    A law of many numbers is told from others of its kind by four letters made from its text.
    """
    kind, _, value = text.partition(":")
    if len(text) <= LONGEST_SHOWN:
        return text
    try:
        return f"{kind}:{float(value):.6g}"
    except ValueError:
        mark = hashlib.sha256(text.encode()).hexdigest()[:4]
        return f"{kind[:LONGEST_SHOWN]} #{mark} ({value.count(',') + 1} points)"


def law_from_dict(fields: Mapping[str, Any], base: GeneralizedGaussian) -> AdditionalLaw:
    """The law that `AdditionalLaw.to_dict` was made from."""
    kind = fields.get("kind") if isinstance(fields, Mapping) else None
    if not isinstance(kind, str) or kind not in LAW_KINDS:
        raise UnknownLaw(
            f"the `kind` of a law must be one of {', '.join(sorted(LAW_KINDS))}, "
            f"got {shown(fields)}"
        )
    return LAW_KINDS[kind].from_dict(fields, base)


def additional_law(kind: str, value: float, base: GeneralizedGaussian) -> AdditionalLaw:
    """The law of a kind with one parameter: a percentile (truncated) or beta (rescaled)."""
    if kind not in LAW_KINDS:
        raise UnknownLaw(f"`q_shape` must be one of {', '.join(sorted(LAW_KINDS))}, got {kind!r}")
    return parse_additional_law(f"{kind}:{real_number('value', value)!r}", base)
