"""Strategies by name, as the plan writes them. The one place that reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsrs.errors import InvalidInput, UnknownLaw
from dsrs.laws import parse_additional_law
from dsrs.methods.base import Strategy
from dsrs.methods.double_sampling import DoubleSampling
from dsrs.methods.first_order import FIRST_ORDER, FirstOrder
from dsrs.methods.neyman_pearson import NEYMAN_PEARSON, NeymanPearson
from dsrs.methods.tailored import TAILORED, Tailored

if TYPE_CHECKING:
    from dsrs.methods.plan import Plan

# A new strategy is added here. Whatever is not named is a law Q of double sampling.
NAMED: dict[str, type[Strategy]] = {
    NEYMAN_PEARSON: NeymanPearson,
    TAILORED: Tailored,
    FIRST_ORDER: FirstOrder,
}


def strategy_of(plan: Plan, text: str) -> Strategy:
    """The strategy that the plan writes as `text`."""
    if text in NAMED:
        return NAMED[text](plan, text)
    try:
        # A heuristic needs some lower bound of P_A to be read at all.
        parse_additional_law(text, plan.law, p_lower=0.5)
    except UnknownLaw as error:
        raise InvalidInput(f"a method is {', '.join(NAMED)} or a law: {error}") from None
    return DoubleSampling(plan, text)


def method_name(text: str, methods: tuple[str, ...]) -> str:
    """`truncated` for `truncated:0.6`; the whole text where several methods share the word."""
    kind = text.partition(":")[0]
    alike = [other for other in methods if other.partition(":")[0] == kind]
    return text if len(alike) > 1 else kind
