"""What a plan says unless it is told otherwise, from Python and on the command line.

Nothing that takes time is imported here, so that `--help` prints these numbers at once.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any, Literal

from dsrs.errors import InvalidInput

Target = Literal["label", "predicted"]
Classes = Literal["top", "all"]

NEYMAN_PEARSON, TAILORED = "np", "tailored"

DEFAULT_METHODS = (NEYMAN_PEARSON, TAILORED)
N = 100_000
N0 = 100
ALPHA = 0.001
SEED = 0
SAMPLE_SHARE = 0.5
ALPHA_SHARE = 0.5
# Of these the first one each.
TARGETS: tuple[Target, ...] = ("label", "predicted")
CLASSES: tuple[Classes, ...] = ("top", "all")
# How looks at the votes grow, and what part of alpha the last one keeps; chosen by measurement:
# `benchmarks/fewest_votes.py`. They stand in the plan, for votes are checked by the looks they had.
LOOK_RULE = (1.15, 0.6)
PRECISION = 0.01  # of an adaptive run without radii; a plan has none by itself
PREDICTION_VOTES = 1000  # of one answer, at most

# ---- The methods that plans, commands and reports know, by name


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
    home: str | type[Any]
    form: str = ""
    variants: tuple[str, ...] = ()
    tuned: tuple[str, ...] = ()

    def load(self) -> type[Any]:
        """Import and return the class of the method, a subclass of `Method`."""
        if not isinstance(self.home, str):
            return self.home
        module, _, name = self.home.partition(":")
        found: type[Any] = getattr(importlib.import_module(module), name)
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
            "dsrs.methods.one_bound:NeymanPearson",
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
            "dsrs.methods.one_bound:Tailored",
        ),
        Entry(
            "landscape",
            "landscape",
            "votes for `dsrs tune` to choose a law from: they certify nothing",
            "dsrs.methods.one_bound:LandscapeVotes",
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
