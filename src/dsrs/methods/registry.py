"""The methods that plans, commands and reports know, by name. The one place that lists them."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dsrs.errors import InvalidInput

if TYPE_CHECKING:
    from dsrs.methods.base import Method
    from dsrs.methods.plan import Plan


@dataclass(frozen=True, slots=True)
class Entry:
    """A method as people meet it, and where its code is.

    The code is imported when the method is used: its texts are printed by `--help`.

    Args:
        name: what a plan calls it, such as `np`.
        title: what tables and figures call it.
        help: what it does, in a line.
        home: its class, or `module:class`.
        form: how a plan writes it, where that is not its name alone.
        variants: what its certificates are called, where they are not called by its name.
        tuned: the texts that `dsrs tune` tries, where that is not its name alone.
    """

    name: str
    title: str
    help: str
    home: str | type[Method]
    form: str = ""
    variants: tuple[str, ...] = ()
    tuned: tuple[str, ...] = ()

    def load(self) -> type[Method]:
        """Import and return the class of the method."""
        if not isinstance(self.home, str):
            return self.home
        module, _, name = self.home.partition(":")
        found: type[Method] = getattr(importlib.import_module(module), name)
        return found


DOUBLE_SAMPLING = "double-sampling"

# A new method is added here. The order is that of tables, and of the palette of figures.
METHODS: dict[str, Entry] = {
    entry.name: entry
    for entry in (
        Entry(
            "np",
            "Neyman-Pearson",
            "all votes under P, one lower bound: the usual certificate",
            "dsrs.methods.neyman_pearson:NeymanPearson",
        ),
        Entry(
            DOUBLE_SAMPLING,
            "DSRS",
            "votes under P and under a law Q, a two-sided interval each",
            "dsrs.methods.double_sampling:DoubleSampling",
            form="KIND:VALUE (see laws below)",
            variants=("truncated", "rescaled"),
            tuned=("rescaled:0.8x", "truncated:heuristic"),
        ),
        Entry(
            "tailored",
            "tailored law",
            "a few votes choose the best law Q for the input, the rest are under it",
            "dsrs.methods.tailored:Tailored",
        ),
        Entry(
            "landscape",
            "landscape",
            "votes for `dsrs tune` to choose a law from: they certify nothing",
            "dsrs.methods.landscape:LandscapeVotes",
        ),
    )
}


def register(entry: Entry) -> Entry:
    """Make a method of another package known to all commands and reports, under its name."""
    if METHODS.get(entry.name, entry) != entry:
        raise InvalidInput(f"there is a method named {entry.name!r} already")
    METHODS[entry.name] = entry
    return entry


def entry_of(text: str) -> Entry:
    """The method that a plan writes as `text`: one of these names, or a law of double sampling."""
    from dsrs.laws import LAW_KINDS, names_a_law

    if names_a_law(text):
        return METHODS[DOUBLE_SAMPLING]
    if text in METHODS and text != DOUBLE_SAMPLING:
        return METHODS[text]
    names = ", ".join(name for name in METHODS if name != DOUBLE_SAMPLING)
    raise InvalidInput(
        f"a method is {names}, or a law of double sampling, KIND:VALUE with KIND one of "
        f"{', '.join(sorted(LAW_KINDS))} (for example rescaled:0.8x), got {text!r}"
    )


def method_of(plan: Plan, text: str) -> Method:
    """The method that the plan writes as `text`; InvalidInput where the plan does not fit it."""
    method = entry_of(text).load()(plan, text)
    if not plan.goal.is_open and not method.one_bound:
        raise InvalidInput(
            "a radius or precision to stop at is for methods with one bound (np, tailored), not "
            f"for {text}: it has no looks with parts of alpha"
        )
    if plan.classes == "all" and not method.compares_classes:
        raise InvalidInput(
            f"`classes` = all is for np, tailored and laws of double sampling, not for {text}"
        )
    method.check_plan()
    return method


def methods_of(plan: Plan) -> dict[str, Method]:
    """The methods of a plan, by the names of their certificates.

    Raises InvalidInput where the plan does not fit one of them.
    """
    return {plan.name_of(text): method_of(plan, text) for text in plan.methods}


def title_of(name: str) -> str | None:
    """What tables and figures call the certificates of this name; None for an unknown one."""
    for entry in METHODS.values():
        if name in entry.variants:
            return f"{entry.title} {name}"
        if name == entry.name:
            return entry.title
    return None


def known_names() -> tuple[str, ...]:
    """The names of certificates, in the order of tables."""
    return tuple(name for entry in METHODS.values() for name in (entry.variants or (entry.name,)))
