"""Routed: a radius within which a classifier that chooses its noise by the input keeps its answer.

The router is smoothed with a law P_0, and route(x) is its smoothed answer: the number of an expert,
the least one of equals. Expert j is a smoothed classifier g_j with a law of its own. The routed
classifier is G(x) = g_route(x)(x). Let i be the named expert, and for every expert j let

- s_j be a radius within which g_j answers the class (0 where nothing is proved), and
- e_j, for j other than i, a radius within which the smoothed router is provably likelier to answer
  i than j (0 where nothing is proved); e_i = 0.

Then G answers the class within r = min_j max(s_j, e_j). Let |delta| < r and j = route(x + delta).
If |delta| < e_j, then i is likelier than j at x + delta, so j is not the router's answer there: a
contradiction, and e_i = 0 leaves no such case for i. So |delta| >= e_j, hence |delta| < s_j, and
g_j(x + delta) is the class.

Of this the form min(s_i, min_j e_j) is a special case, which is never larger: the router need not
be sure between experts that agree. Why alpha holds stands in methods/routed.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from dsrs.errors import DataError
from dsrs.files.json_records import from_json, shown
from dsrs.laws import GeneralizedGaussian, smoothing_law_from_dict
from dsrs.proofs.base import Claim, Proof

# Of any kind, from its JSON and its smoothing law.
ReadProof = Callable[[Any, GeneralizedGaussian], Proof]


@dataclass(frozen=True, slots=True)
class ExpertPart:
    """What is proved of one expert.

    Args:
        law: the noise of the expert; None for a plain model, of which nothing is proved.
        alpha: the share of alpha that `proof` may fail with; 0 where nothing was asked.
        proof: that the expert answers the class; None where nothing was asked.
        router_alpha: the share of alpha that `excluded` may fail with; 0 for the named expert.
        excluded: that the router prefers the named expert to this one: a `dual` proof of its
            majority, or a `lead` over this expert alone; None for the named expert.
    """

    law: GeneralizedGaussian | None
    alpha: float
    proof: Proof | None
    router_alpha: float
    excluded: Proof | None

    @property
    def expert_reach(self) -> float:
        """s_j: within this radius the expert answers the class."""
        return 0.0 if self.proof is None else self.proof.reach

    @property
    def router_reach(self) -> float:
        """e_j: within this radius the router prefers the named expert."""
        return 0.0 if self.excluded is None else self.excluded.reach

    @property
    def reach(self) -> float:
        """Within this radius the expert is right, or not asked."""
        return max(self.expert_reach, self.router_reach)


@dataclass(frozen=True, slots=True)
class Routed(Proof):
    """The parts of all experts, in the order of the router's answers.

    The smoothing law of the certificate is that of the router.

    Args:
        named: the place of the named expert among `experts`.
        alpha: the failure probability of the whole; see methods/routed.py.
        experts: what is proved of each expert.
    """

    named: int
    alpha: float
    experts: tuple[ExpertPart, ...]

    kind: ClassVar[str] = "routed"
    claim: ClassVar[Claim] = "routed"

    @property
    def reach(self) -> float:
        return min(part.reach for part in self.experts)

    @property
    def router_reach(self) -> float:
        """min_j e_j: within this radius the router provably answers the named expert."""
        return min(part.router_reach for j, part in enumerate(self.experts) if j != self.named)

    @property
    def published_reach(self) -> float:
        """min(s_i, min_j e_j): what follows if the router alone decides; never above `reach`."""
        return min(self.experts[self.named].expert_reach, self.router_reach)

    def flaw(self, law: GeneralizedGaussian) -> str | None:
        if not 0 <= self.named < len(self.experts) or len(self.experts) < 2:
            return f"expert {self.named} of {len(self.experts)} is named"
        if not 0 < self.alpha < 1:
            return f"alpha must be in (0, 1), got {self.alpha!r}"
        for j, part in enumerate(self.experts):
            flaw = self._flaw_of_shares(j, part) or _flaw_of_part(part, law)
            if flaw is not None:
                return f"expert {j}: {flaw}"
        return None

    def _flaw_of_shares(self, j: int, part: ExpertPart) -> str | None:
        """What is wrong with the shares of alpha."""
        if not (0 <= part.alpha <= 1 and 0 <= part.router_alpha <= 1):
            return f"shares of alpha are {part.alpha!r} and {part.router_alpha!r}"
        if Fraction(part.alpha) + Fraction(part.router_alpha) > Fraction(self.alpha):
            return f"its shares add up to more than alpha = {self.alpha!r}"
        if j == self.named and (part.excluded is not None or part.router_alpha):
            return "the named expert is not excluded by the router"
        if (part.proof is not None) > (part.alpha > 0):
            return "its certificate has no share of alpha"
        return None


def _flaw_of_part(part: ExpertPart, router: GeneralizedGaussian) -> str | None:
    """What is wrong with the proofs of one expert, or with their laws."""
    if part.law is None:
        if part.proof is not None:
            return "nothing can be proved of a plain model"
    elif (part.law.d, part.law.measured_in) != (router.d, router.measured_in):
        return "its noise is not of the dimension and the norm of the router's"
    for proof, law in ((part.proof, part.law), (part.excluded, router)):
        if proof is None or law is None:
            continue
        if isinstance(proof, Routed):
            return "a routed proof holds no other one"
        flaw = proof.flaw(law)
        if flaw is not None:
            return flaw
    if part.excluded is not None and part.excluded.kind not in ("dual", "lead", "norm-dual"):
        return f"a proof of the kind {part.excluded.kind} does not exclude it"
    return None


def part_from_dict(fields: Any, router: GeneralizedGaussian, read_proof: ReadProof) -> ExpertPart:
    """The part that its JSON was made from; `read_proof` reads its proofs under their own laws."""
    if not isinstance(fields, Mapping):
        raise DataError(f"an expert must be an object, got {shown(fields)}")
    law = None if fields.get("law") is None else smoothing_law_from_dict(fields["law"])

    def read(name: str, under: GeneralizedGaussian | None) -> Proof | None:
        value = fields.get(name)
        if value is None:
            return None
        if under is None or (isinstance(value, Mapping) and value.get("kind") == Routed.kind):
            raise DataError(f"`{name}` of an expert must be a proof about one noise law")
        return read_proof(value, under)

    proofs = {"proof": read("proof", law), "excluded": read("excluded", router)}
    plain = from_json(_Shares, fields, beside=("law", "proof", "excluded"))
    if not all(math.isfinite(value) for value in (plain.alpha, plain.router_alpha)):
        raise DataError("the shares of alpha must be finite numbers")
    return ExpertPart(law, plain.alpha, proofs["proof"], plain.router_alpha, proofs["excluded"])


@dataclass(frozen=True, slots=True)
class _Shares:
    """The entries of a part that are plain numbers."""

    alpha: float
    router_alpha: float
