"""The streams of a routed model: those of the router, and those of each expert as it sees them.

A stream knows the place of its classifier: 0 is the router, j + 1 the expert j. To a method that
certifies one expert, that expert is the only classifier: its votes are shown with place 0.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dsrs.methods.plan import Plan
from dsrs.noise.stream import PLAIN, NoiseLaw, Stream
from dsrs.votes.records import ESTIMATION, EXPERT_MARK, SELECTION, SampledInput

ROUTER = 0


def place_of(expert: int) -> int:
    """The place of an expert among the classifiers of the run."""
    return expert + 1


def router_stream(plan: Plan, purpose: str) -> Stream:
    """The votes of the router under its noise."""
    return Stream(purpose, plan.law, ROUTER)


def expert_stream(plan: Plan, expert: int, purpose: str) -> Stream:
    """The votes of an expert under its noise; a plain model has one, without noise."""
    law = plan.experts[expert]
    if law is None:
        return Stream(PLAIN, plan.law, place_of(expert))
    return Stream(purpose, law, place_of(expert))


def named_expert(seen: SampledInput, plan: Plan) -> int | None:
    """The expert that the router's selection votes name, the first of equals; None before them."""
    selection = router_stream(plan, SELECTION)
    taken = seen.taken(selection)
    return int(np.argmax(seen.first(selection, taken).counts)) if taken else None


def predicting_stream(seen: SampledInput, plan: Plan) -> Stream | None:
    """The votes whose most frequent class is the prediction: those that chose the class, or else
    those under P (of the named expert); None where there are none."""
    expert = named_expert(seen, plan) if plan.experts else None
    for purpose in (SELECTION, ESTIMATION):
        stream = Stream(purpose, plan.law)
        if plan.experts:
            if expert is None:
                return None
            stream = expert_stream(plan, expert, purpose)
        if seen.taken(stream):
            return stream
    return None


def selection_wanted(seen: SampledInput, plan: Plan) -> tuple[Stream, int] | None:
    """The votes that choose the expert, then the class, and how many; None where both are known."""
    if not plan.experts:
        return (Stream(SELECTION, plan.law), plan.n0) if seen.target is None else None
    expert = named_expert(seen, plan)
    if expert is None:
        return router_stream(plan, SELECTION), plan.n0
    stream = expert_stream(plan, expert, SELECTION)
    plain = stream.purpose == PLAIN
    # The answer of a plain model costs one row, and is what the routed model predicts.
    if seen.target is None or (plain and not seen.taken(stream)):
        return stream, 1 if plain else plan.n0
    return None


def as_only_classifier(stream: Stream) -> Stream:
    """A stream of an expert as the expert's own method names it."""
    return replace(stream, classifier=ROUTER)


def of_expert(seen: SampledInput, expert: int) -> SampledInput:
    """The votes of one expert, as if it were the only classifier."""
    place = place_of(expert)
    mark = choice_name(expert, "")
    own = tuple(
        replace(votes, stream=as_only_classifier(votes.stream))
        for votes in seen.votes
        if votes.stream.classifier == place
    )
    choices: dict[str, NoiseLaw] = {
        text.removeprefix(mark): law for text, law in seen.choices.items() if text.startswith(mark)
    }
    return replace(seen, votes=own, choices=choices)


def choice_name(expert: int, text: str) -> str:
    """Under which name the law is kept that the method `text` chose for an expert."""
    return f"expert {expert}{EXPERT_MARK}{text}"
