"""A routed model certified: the named expert, the router, and the rivals that it cannot exclude.

The certificate is r = min_j max(s_j, e_j) of proofs/routed.py, with the named expert i.

Why alpha holds. The selection votes fix i and the class (or the label does): condition on them. Let
R be the true radius of the routed classifier G for the class at x, the infimum of |delta| over all
delta with G(x + delta) another class; if there is none, nothing can go wrong. Choose failing deltas
whose norms tend to R. One of the finitely many experts answers at infinitely many of them: call it
j*. It is fixed by G, x and the class, not by any further vote. A certificate r > R has a failing
delta of j* inside, |delta| < r <= max(s_j*, e_j*), with route(x + delta) = j* and another class
than ours. So either |delta| < e_j*, and e_j* is false, or |delta| < s_j*, and s_j* is false.

- j* = i: e_i = 0, so s_i is false. s_i has the whole of alpha.
- j* = j, another one: e_j or s_j is false. These two share alpha: `router_alpha` for e_j and
  `alpha - router_alpha` for s_j. (Both at alpha would fail more often: tests/methods shows it.)

Only one of these cases is the true one, so the failure probability is at most alpha, not the sum
over experts. The number of experts costs nothing.

What may depend on what. e_j rests on the router's estimation votes alone, at looks that are fixed
with their shares (looks.py), so that it holds whenever one stops; half of each share is for the
lower bound of i and half for the upper bound of j, or the whole for the lower bound where a
majority is asked for. s_j rests on the estimation votes of expert j. All streams have noise of
their own. The split is fixed (router.py): half of alpha for each of the two, and all of it for the
router against a plain model. Whether j is asked, for which radius and for how long depends on all
votes before, the router's too; the bound s_j holds at all its looks whatever they say, so it fails
with at most its share given everything else.

With half of alpha for e_j and all of it for s_i, the certificate is, from the same votes, at least
min(s_i, min_j e_j) with alpha divided evenly between expert and router, as a union bound would.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from dsrs.errors import InvalidInput, NotEnoughVotes
from dsrs.laws.norms import NORMS, Norm
from dsrs.methods.base import Method, Want, certify_or_abstain
from dsrs.methods.experts import (
    as_only_classifier,
    choice_name,
    named_expert,
    of_expert,
    place_of,
    router_stream,
)
from dsrs.methods.goals import no_lead
from dsrs.methods.looks import schedule
from dsrs.methods.registry import entry_of, method_of
from dsrs.methods.router import Rival, preference, rivals_of
from dsrs.noise.stream import PLAIN, NoiseLaw, Stream
from dsrs.proofs.base import Proof
from dsrs.proofs.certificate import Certificate, OnGrid, Status, distance_in, radius_less
from dsrs.proofs.interval import Interval
from dsrs.proofs.lead import find_lead
from dsrs.proofs.routed import ExpertPart, Routed
from dsrs.votes.records import ESTIMATION, SELECTION, SampledInput
from dsrs.votes.tally import Tally

# By this share a radius must be expected to grow to be worth further votes.
WORTH_VOTES = 0.02
OTHER_LAWS = 0.8  # of the Gaussian's scores: below that, laws with k > 0 hardly reach a radius


@dataclass(frozen=True, slots=True)
class RoutedMethod(Method):
    """The method `text` for each expert that is needed, with a router before them."""

    one_bound: ClassVar[bool] = True  # the expert's method is asked itself: `check_plan`
    compares_classes: ClassVar[bool] = True
    norms: ClassVar[tuple[Norm, ...]] = NORMS

    # Certificates and exclusions by the votes that they rest on; a search takes time.
    known: dict[object, Certificate | Proof] = field(default_factory=dict, compare=False)

    def check_plan(self) -> None:
        if self.plan.bound != "plain":
            raise InvalidInput(
                "`bound` must be plain: routed models have plain bounds, for a randomized one uses "
                "one uniform number, and router and experts would need one each"
            )
        if len({law.measured_in for law in self.plan.smoothing_laws}) > 1:
            raise InvalidInput("the noise of router and experts must be round in one norm")
        for expert, law in enumerate(self.plan.experts):
            if law is not None:
                self._of(expert, self.plan.alpha)  # refuses what does not fit

    def want(self, seen: SampledInput) -> Want | None:
        expert = named_expert(seen, self.plan)
        assert expert is not None  # named before methods are asked
        if self.plan.experts[expert] is None:
            return None  # a plain model has no certificates
        wanted = self._of(expert, self.plan.alpha).want(of_expert(seen, expert))
        if wanted is not None:
            return _for(expert, wanted)
        own = self._certified(seen, expert, self.plan.alpha)
        if own.radius == 0 or own.status == "short":
            return None  # the routed radius is no larger
        aimed = self._aimed(seen, own)
        rivals = rivals_of(self.plan, expert)
        # A rival that cannot be asked is worth whatever the router can add to its radius.
        worth = {
            j: aimed if rivals[j].alpha else (1 + WORTH_VOTES) * reached
            for j, reached in self._reached(seen, expert, rivals).items()
        }
        wanted = self._router_wanted(seen, expert, rivals, aimed, worth)
        if wanted is not None:
            return wanted
        found = self._rival_wanted(seen, expert, rivals, aimed)
        if isinstance(found, Want):
            return found
        # At last, what the router can add where it limits the radius.
        least = min(found.values())
        worth = {j: (1 + WORTH_VOTES) * reach for j, reach in found.items() if reach == least}
        return self._router_wanted(seen, expert, rivals, aimed, worth)

    def _reached(
        self, seen: SampledInput, expert: int, rivals: Mapping[int, Rival]
    ) -> dict[int, float]:
        """e_j of each rival."""
        return {j: self._exclusion(seen, expert, j, rivals[j]).reach for j in rivals}

    def _router_wanted(
        self,
        seen: SampledInput,
        expert: int,
        rivals: Mapping[int, Rival],
        aimed: float,
        worth: Mapping[int, float],
    ) -> Want | None:
        """More votes of the router, if they may exclude a rival up to the radius that is worth it.

        No more than `aimed` is of use.
        """
        stream, plan = router_stream(self.plan, ESTIMATION), self.plan
        taken, reached = seen.taken(stream), self._reached(seen, expert, rivals)
        if taken >= plan.n or all(reached[j] >= aimed for j in worth):
            return None
        if taken:
            counts = seen.first(stream, taken).counts
            # The Gaussian's scores; other laws certify a little more from the same ones.
            scores = 2 * (1.0 if plan.law.is_gaussian else OTHER_LAWS) / plan.law.sigma
            if all(
                no_lead(counts[expert], counts[j], taken, scores * min(radius, aimed))
                for j, radius in worth.items()
                if reached[j] < aimed
            ):
                return None
        ends = (look.votes for look in schedule(plan.n, plan.alpha, plan.batch))
        return Want(stream, next(end for end in ends if end > taken))

    def _rival_wanted(
        self, seen: SampledInput, expert: int, rivals: Mapping[int, Rival], aimed: float
    ) -> Want | dict[int, float]:
        """Votes of a rival, to know whether it answers the class up to the radius so far; where it
        does not, to know its radius. Without such votes: max(s_j, e_j) of each rival."""
        reached, moved = self._reached(seen, expert, rivals), self._moved(seen)
        so_far = min([aimed, *(reached[j] for j in rivals if not rivals[j].alpha)])
        for j, rival in rivals.items():
            left = radius_less(so_far, moved)
            if reached[j] >= so_far or left == 0:
                continue
            more = radius_less((1 + WORTH_VOTES) * reached[j], moved)
            goals = [{"radius": left}, *([{"radius": min(more, left)}] if more else [])]
            for goal in (*goals, {"precision": WORTH_VOTES}):
                wanted = self._of(j, rival.alpha, goal).want(of_expert(seen, j))
                if wanted is not None:
                    return _for(j, wanted)
                own = _reach(self._certified(seen, j, rival.alpha))
                if own >= so_far or (more and own <= reached[j] and goal != goals[0]):
                    break  # it reaches far enough, or not as far as the router does
            reached[j] = max(reached[j], own)
            so_far = min(so_far, reached[j])
        return reached

    def certificate(self, seen: SampledInput) -> Certificate:
        plan, expert = self.plan, named_expert(seen, self.plan)
        if expert is None:
            raise seen.lacks(router_stream(plan, SELECTION), plan.n0)
        nothing = [ExpertPart(law, 0.0, None, 0.0, None) for law in plan.experts]
        if plan.experts[expert] is None:
            return self._claimed(Routed(expert, plan.alpha, tuple(nothing)), seen)
        own = self._certified(seen, expert, plan.alpha)
        parts = [*nothing]
        parts[expert] = replace(nothing[expert], alpha=plan.alpha, proof=own.proof)
        for j, rival in rivals_of(plan, expert).items():
            proof = self._rival_proof(seen, j, rival)
            parts[j] = ExpertPart(
                plan.experts[j],
                0.0 if proof is None else rival.alpha,
                proof,
                rival.router_alpha,
                self._exclusion(seen, expert, j, rival),
            )
        return self._claimed(Routed(expert, plan.alpha, tuple(parts)), seen)

    def _rival_proof(self, seen: SampledInput, j: int, rival: Rival) -> Proof | None:
        """The proof of a rival's answer; None where it was not asked, or by another method."""
        if rival.alpha == 0:
            return None
        try:
            return self._certified(seen, j, rival.alpha).proof
        except NotEnoughVotes:
            return None  # which costs radius, never truth

    def _claimed(self, proof: Routed, seen: SampledInput) -> Certificate:
        """The certificate of the input itself, of which the proof's point is the grid point."""
        # The form that waits for the router alone is a special case, from the same bounds.
        assert proof.reach >= proof.published_reach
        plan, grid = self.plan, self.plan.known_grid
        radius = radius_less(proof.reach, self._moved(seen))
        if radius == 0 and proof.reach > 0:
            named = replace(proof.experts[proof.named], proof=None, alpha=0.0)
            parts = tuple(named if j == proof.named else p for j, p in enumerate(proof.experts))
            proof = replace(proof, experts=parts)
        note = None
        if grid is not None:
            laws: list[NoiseLaw] = [*plan.smoothing_laws]
            laws += [
                seen_by.law
                for part in proof.experts
                if part.proof is not None
                for seen_by in part.proof.observations
            ]
            charged = max(map(self._variation, laws))
            note = OnGrid(grid.step, grid.origin, seen.moved, charged)
        short = plan.goal.radius is not None and radius < plan.goal.radius
        status: Status = "short" if short else "certified" if radius > 0 else "abstained"
        return Certificate(plan.law, status, radius, None, proof, note)

    def choices(self, seen: SampledInput) -> dict[str, NoiseLaw]:
        chosen, named = {}, named_expert(seen, self.plan)
        rivals = {} if named is None else rivals_of(self.plan, named)
        for expert, law in enumerate(self.plan.experts):
            if law is None:
                continue
            own = of_expert(seen, expert)
            # At the share of alpha that the expert is certified with: another may choose otherwise.
            alpha = rivals[expert].alpha if expert in rivals else self.plan.alpha
            for text, law_ in self._of(expert, alpha).choices(own).items():
                chosen[choice_name(expert, text)] = law_
        return chosen

    def tallies(self, stream: Stream, seen: SampledInput) -> tuple[Tally, ...]:
        expert = stream.classifier - 1
        if expert < 0 or stream.purpose == PLAIN:
            return ()
        own = self._of(expert, self.plan.alpha)
        return own.tallies(as_only_classifier(stream), of_expert(seen, expert))

    def _aimed(self, seen: SampledInput, own: Certificate) -> float:
        """The radius around the grid point that is worth proving: no more than that of the named
        expert, or that is asked for."""
        asked, reach = self.plan.goal.radius, _reach(own)
        return reach if asked is None else min(reach, asked + self._moved(seen))

    def _exclusion(self, seen: SampledInput, expert: int, j: int, rival: Rival) -> Proof:
        """The proof that the router prefers the named expert to expert j; e_j is its reach."""
        law, stream = self.plan.law, router_stream(self.plan, ESTIMATION)
        taken = ((one.stop, one.counts) for one in seen.votes if one.stream == stream)
        key = (expert, j, rival, *taken)
        if key not in self.known:
            known = preference(seen, self.plan, expert, j, rival)
            lower = self.charged(Interval(known.lower, 1.0), law)
            if rival.leads:
                most = self.charged(Interval(0.0, known.rival), law).upper
                proof: Proof | None = find_lead(law, lower.lower, most)
            else:
                proof = certify_or_abstain(law, lower).proof
            assert proof is not None
            self.known[key] = proof
        found = self.known[key]
        assert isinstance(found, Proof)
        return found

    def _certified(self, seen: SampledInput, expert: int, alpha: float) -> Certificate:
        """The certificate of an expert from its own votes."""
        own = of_expert(seen, expert)
        key = (expert, alpha, tuple((votes.stream, votes.stop, votes.hits) for votes in own.votes))
        if key not in self.known:
            # Which radius the votes were to decide has no part in what they prove.
            named = named_expert(seen, self.plan) == expert
            method = self._of(expert, alpha, {} if named else {"precision": WORTH_VOTES})
            self.known[key] = method.certificate(own)
        found = self.known[key]
        assert isinstance(found, Certificate)
        return found

    def _of(self, expert: int, alpha: float, goal: Mapping[str, float] | None = None) -> Method:
        """The method of one expert; with `goal` it stops when that is known, if it can."""
        changes: dict[str, Any] = {"family_alpha": None, "family_size": None}
        if goal and entry_of(self.text).load().one_bound:
            changes |= {"radius": None, "radii": (), "precision": None, **goal}
        own = self.plan.replace(
            law=self.plan.experts[expert],
            experts=(),
            methods=(self.text,),
            alpha=alpha,
            **changes,
        )
        return method_of(own, self.text)

    def _moved(self, seen: SampledInput) -> float:
        """The distance to the grid point, in the norm of the noise."""
        return distance_in(self.plan.law, seen.moved)


def _for(expert: int, wanted: Want) -> Want:
    """What the method of an expert wants, as a stream of the run."""
    return Want(replace(wanted.stream, classifier=place_of(expert)), wanted.stop)


def _reach(found: Certificate) -> float:
    """How far the proof reaches around the grid point."""
    return 0.0 if found.proof is None else found.proof.reach
