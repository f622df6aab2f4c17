"""The class of a routed model at an input, or an abstention.

The router's first votes name an expert i. The answer A is that of expert i, told apart at alpha;
and for every other expert j either the router's further votes show that i is likelier than j, at
the share a of alpha, or expert j is asked as well and told apart to say A too, at alpha - a. A
plain model is asked once, without noise, and is never wrong about itself: where it does not say A,
all of alpha is the router's.

The answer is not G(x) = g_route(x)(x) with probability at most alpha. Let j* = route(x), a fact of
router and input, and condition on the votes that named i. If j* = i, the answer is wrong only if
expert i was told apart wrongly: at most alpha. Else it is wrong only if the router's votes excluded
j*, which is likeliest (at most a), or if j* was told apart wrongly (at most alpha - a). Only one of
these is the true case, so nothing is summed over experts.

That i is likelier than j is a binomial test: of N votes for one of the two those for j are
Binomial(N, q), and q >= 1/2 unless i is likelier; the looks share a (looks.py).
"""

from __future__ import annotations

import numpy as np
from scipy import special

from dsrs.methods.experts import expert_stream, router_stream
from dsrs.methods.goals import no_lead
from dsrs.noise.stream import PLAIN
from dsrs.smoothed.asking import PREDICTION, Asked, Votes, told
from dsrs.smoothed.prediction import STRAY_SHARE, Prediction, most_that_stray

NAMING = "predict, naming"
SHARED = 0.5  # of alpha: for the router, where the rival can be asked as well


def routed_answer(asked: Asked) -> Prediction:
    """The class of the routed model at the input, or an abstention."""
    plan = asked.plan
    named = int(np.argmax(asked.votes(router_stream(plan, NAMING), 0, plan.batch)))
    counts, label = _expert(asked, named, plan.alpha)
    if label is not None:
        shares = {}
        for j, law in enumerate(plan.experts):
            # A plain rival that says the same needs no router.
            if j != named and (law is not None or _expert(asked, j, 0.0)[1] != label):
                shares[j] = plan.alpha if law is None else SHARED * plan.alpha
        excluded = _excluded(asked, named, shares) if shares else set()
        for j, share in shares.items():
            if j in excluded:
                continue
            if plan.experts[j] is None or _expert(asked, j, plan.alpha - share)[1] != label:
                return asked.answer(None, counts.tolist())
    return asked.answer(label, counts.tolist())


def _expert(asked: Asked, expert: int, alpha: float) -> tuple[Votes, int | None]:
    """The votes of an expert, and the class that they tell apart."""
    stream = expert_stream(asked.plan, expert, PREDICTION)
    if stream.purpose != PLAIN:
        return told(asked, stream, alpha)
    counts = asked.votes(stream, 0, 1)
    return counts, int(np.argmax(counts))


def _excluded(asked: Asked, named: int, shares: dict[int, float]) -> set[int]:
    """The rivals that the router's votes show to be less likely than the named expert."""
    stream, counts, taken = router_stream(asked.plan, PREDICTION), None, 0
    excluded: set[int] = set()
    by_rival = {j: asked.looks(share) for j, share in shares.items()}
    for place, look in enumerate(next(iter(by_rival.values()))):
        more = asked.votes(stream, taken, look.votes)
        counts, taken = (more if counts is None else counts + more), look.votes
        for j, looks in by_rival.items():
            if _likelier(counts, named, j, looks[place].alpha, asked.variation(stream)):
                excluded.add(j)
        left = shares.keys() - excluded
        # Those that hardly are less likely are asked themselves, if they can be.
        if all(no_lead(int(counts[named]), int(counts[j]), taken, 0.0) for j in left):
            break
    return excluded


def _likelier(counts: Votes, named: int, rival: int, alpha: float, variation: float) -> bool:
    """Whether the votes show, but for alpha, that one answer is likelier than another."""
    stray = 0
    if variation > 0:
        stray = most_that_stray(int(counts.sum()), STRAY_SHARE * alpha, variation)
        alpha *= 1 - STRAY_SHARE
    best, rest = int(counts[named]) - stray, int(counts[rival]) + stray
    return best > rest and bool(special.bdtr(rest, best + rest, 0.5) <= alpha)
