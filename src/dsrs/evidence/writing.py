"""Proof files (checker/FORMAT.md): certificates, their votes and their shares of alpha.

Everything hard is done here and written down, so that the checker searches for nothing. What is
written need not be true: the checker decides. A certificate that cannot be written in this form
stands in the file as `unproved`, with the reason.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from dsrs.errors import InvalidInput
from dsrs.laws import GeneralizedGaussian
from dsrs.methods import Event, PlannedBound, Side, TakenBound
from dsrs.noise import NoiseLaw, Stream
from dsrs.proofs import (
    Certificate,
    Dual,
    Interval,
    Lead,
    Rivalry,
    Step,
    neyman_pearson,
    not_the_rival,
)
from dsrs.votes import ESTIMATION, SampledInput

FORMAT = "dsrs-proof-1"
MOST_VOTES = 2**53
LARGE = 1e50
Line = dict[str, Any]


class NoSuchForm(InvalidInput):
    """A certificate that proof files have no form for."""


@dataclass(frozen=True, slots=True)
class Known:
    """A bound that a certificate starts from."""

    law: NoiseLaw
    event: Event
    side: Side
    value: float


@dataclass(slots=True)
class Row:
    """One certificate on its way into a file: its bounds, in the order of its form.

    `planned`, `taken` and `values` belong together; `planned` is None where all bounds are given.
    """

    known: list[Known]
    planned: tuple[PlannedBound, ...] | None
    taken: list[TakenBound | None]
    values: list[float | None]
    certificate: Certificate
    target: int
    claims: list[Line] = field(default_factory=list)
    form: int = 0

    def place(self, law: NoiseLaw, event: Event, side: Side) -> int:
        """Return the place of a bound that has a value."""
        for place, (bound, value) in enumerate(zip(self.known, self.values, strict=True)):
            if value is not None and (bound.law, bound.event, bound.side) == (law, event, side):
                return place
        raise NoSuchForm(f"the proof uses a {side} bound of {event} that no votes were planned for")


# ---------------------------------------------------------------------------- from a certificate


def known_of(certificate: Certificate) -> list[Known]:
    """The bounds that the proof of a certificate starts from, without those that say nothing."""
    law, proof = certificate.law, certificate.proof
    known: list[Known] = []
    if isinstance(proof, Dual):
        seen: list[tuple[NoiseLaw, Interval]] = [(law, proof.p)]
        seen += [(each.law, each.interval) for each in proof.additional]
        for own, interval in seen:
            known.append(Known(own, "class", "lower", interval.lower))
            known.append(Known(own, "class", "upper", interval.upper))
    elif isinstance(proof, Lead):
        pairs: list[tuple[NoiseLaw, Rivalry]] = [
            (proof.q or law, Rivalry(proof.lower, proof.rival))
        ]
        if proof.p is not None:
            pairs.insert(0, (law, proof.p))
        for own, pair in pairs:
            known.append(Known(own, "class", "lower", pair.lower))
            known.append(Known(own, "others", "lower", not_the_rival(pair.rival)))
    elif proof is not None:
        raise NoSuchForm(f"proofs of the kind {proof.kind} have no form in proof files")
    best: dict[tuple[NoiseLaw, Event, Side], Known] = {}
    for each in known:
        # A law may be observed twice; both bounds hold then, and the better one says it all.
        name, sign = (each.law, each.event, each.side), 1 if each.side == "lower" else -1
        if name not in best or sign * each.value > sign * best[name].value:
            best[name] = each
    return [each for each in best.values() if each.value != (0 if each.side == "lower" else 1)]


def row_of_given(certificate: Certificate) -> Row:
    """A certificate whose bounds are taken as given."""
    known, subject = known_of(certificate), certificate.subject
    values: list[float | None] = [each.value for each in known]
    target = 0 if subject is None else subject.target
    row = Row(known, None, [None] * len(known), values, certificate, target)
    row.claims = claims_of(row)
    return row


def row_of_votes(
    certificate: Certificate, planned: tuple[PlannedBound, ...], seen: SampledInput
) -> Row:
    """A certificate with the votes that its bounds were taken from."""
    bounds = known_of(certificate)
    claimed = {(each.law, each.event, each.side): each.value for each in bounds}
    known, taken, values = [], [], []
    for bound in planned:
        if bound.stream is None:
            raise NoSuchForm("a law that its bounds are planned under was never chosen")
        own = bound.stream.law
        found = bound.take(seen)
        value = claimed.pop((own, bound.event, bound.side), None)
        if found is None or (value is not None and bound.event == "others" and value > found.value):
            value = None  # what the class leaves bounds its rivals better
        known.append(Known(own, bound.event, bound.side, 0.0 if value is None else value))
        taken.append(found)
        values.append(value)
    strange = [key for key in claimed if key[1] == "class"]
    if strange:
        raise NoSuchForm("it starts from a bound that no votes were planned for")
    row = Row(known, planned, taken, values, certificate, seen.target or 0)
    row.claims = claims_of(row)
    return row


def claims_of(row: Row) -> list[Line]:
    """What a certificate claims, with the proofs of it."""
    certificate, proof = row.certificate, row.certificate.proof
    radius = certificate.radius
    if isinstance(proof, Dual):
        node = _of_dual(row, proof)
    elif isinstance(proof, Lead):
        node = _of_lead(row, proof)
    else:
        raise NoSuchForm("it claims a radius without a proof")
    claims = [{"radius": _number(radius), "proof": node}]
    alone, lower = certificate.np_radius, certificate.known_of_p.lower
    if alone and not ("gaussian" in node and alone <= radius):
        found = _alone(row, lower, alone)
        claims.append({"radius": _number(alone), "proof": found})
    return claims


def _of_dual(row: Row, proof: Dual) -> Line:
    law = row.certificate.law
    laws: list[NoiseLaw] = [law, *(each.law for each in proof.additional)]
    ends = [proof.p, *(each.interval for each in proof.additional)]
    if math.isinf(row.certificate.radius):
        sure = [
            own for own, end, used in zip(laws, ends, proof.steps[0].multipliers, strict=True)
            if end.lower == 1 and used == math.inf
        ]  # fmt: skip
        return {"sure": row.place(sure[0] if sure else law, "class", "lower")}
    if not proof.steps:
        raise NoSuchForm("it claims a radius without a step that proves it")
    sides: list[tuple[int, Side]] = []
    for step in proof.steps:
        if len(step.multipliers) != len(laws):
            raise NoSuchForm("a step of its proof has not one multiplier for each law")
        for at, value in enumerate(step.multipliers):
            side: Side = "lower" if value > 0 else "upper"
            if value != 0 and (at, side) not in sides:
                sides.append((at, side))
    if law.is_gaussian and sides == [(0, "lower")]:
        return {"gaussian": row.place(law, "class", "lower")}
    places = [row.place(laws[at], "class", side) for at, side in sides]
    steps = [
        (step.radius, [_share(step.multipliers[at], side) for at, side in sides])
        for step in proof.steps
    ]
    return {"majority": _event(places, steps)}


def _share(multiplier: float, side: Side) -> float:
    """A multiplier where it is on the side of its bound, and 0 elsewhere.

    Infinity, which stands beside a bound of 1, is a large number: B grows with it, to its limit.
    """
    own = multiplier if (multiplier > 0) == (side == "lower") else 0.0
    return LARGE if own == math.inf else own


def _of_lead(row: Row, proof: Lead) -> Line:
    law = row.certificate.law
    laws: list[NoiseLaw] = [proof.q or law]
    if proof.p is not None:
        laws.insert(0, law)
    if len(proof.steps) != 2 or any(len(step.multipliers) != len(laws) for step in proof.steps):
        raise NoSuchForm("a lead is proved by two steps, with one multiplier for each law")
    events = []
    for own, step in zip(("class", "others"), proof.steps, strict=True):
        event: Event = "class" if own == "class" else "others"
        used = [at for at, value in enumerate(step.multipliers) if value != 0]
        places = [_of_event(row, laws[at], event) for at in used]
        events.append(_event(places, [(step.radius, [step.multipliers[at] for at in used])]))
    return {"lead": events}


def _of_event(row: Row, law: NoiseLaw, event: Event) -> int:
    """The place of the bound of an event: rivals may be bounded by what the class leaves them."""
    try:
        return row.place(law, event, "lower")
    except NoSuchForm:
        return row.place(law, "class", "lower")


def _alone(row: Row, lower: float, radius: float) -> Line:
    """The proof of the radius that P alone proves."""
    law = row.certificate.law
    place = row.place(law, "class", "lower")
    if math.isinf(radius):
        return {"sure": place}
    if law.is_gaussian:
        return {"gaussian": place}
    steps: Sequence[Step] = neyman_pearson(law, lower, 0)
    if not steps:
        raise NoSuchForm("the radius that P alone proves has no proof")
    return {"majority": _event([place], [(each.radius, list(each.multipliers)) for each in steps])}


def _event(places: list[int], steps: list[tuple[float, list[float]]]) -> Line:
    written = [{"shift": shift, "multipliers": values} for shift, values in steps]
    return {"bounds": places, "steps": written}


# -------------------------------------------------------------------------------------- as lines


def law_line(law: NoiseLaw) -> list[list[Any]] | None:
    """A law as proof files write it: None for P, or pieces."""
    if isinstance(law, GeneralizedGaussian):
        return None
    return [[_number(value) for value in piece] for piece in law.pieces()]


def noise_line(law: GeneralizedGaussian) -> Line:
    """P as proof files write it."""
    return {"d": law.d, "sigma": law.sigma, "k": law.k, "eta": law.eta}


def _number(value: float) -> float | str:
    return "inf" if value == math.inf else value


def _looks(bound: PlannedBound) -> list[list[Any]]:
    return [[look.votes, look.alpha] for look in bound.looks]


@dataclass
class Inputs:
    """The inputs of one plan, gathered until it is known what they share."""

    name: str
    law: GeneralizedGaussian
    step: float | None
    alpha: float | None
    family: Line | None
    about: Line
    rows: dict[str, list[Row]] = field(default_factory=dict)  # by method
    inputs: list[tuple[int | str, float, SampledInput | None, dict[str, Row]]] = field(
        default_factory=list
    )

    def add(
        self,
        index: int | str,
        moved: float,
        certificates: Mapping[str, Row],
        seen: SampledInput | None = None,
    ) -> None:
        """Add an input and its certificates by method. Raises NoSuchForm, and adds nothing."""
        if not 0 <= moved < math.inf:
            raise NoSuchForm(f"the input cannot have been moved by {moved!r}")
        counts = [n for votes in seen.votes for n in votes.counts] if seen is not None else []
        if not all(0 <= n <= MOST_VOTES for n in counts):
            raise NoSuchForm("its counts of votes are none")
        laws = {bound.law for row in certificates.values() for bound in row.known}
        if len({json.dumps(law_line(law)) for law in laws}) < len(laws):
            raise NoSuchForm("it names one law in two ways")
        self.inputs.append((index, moved, seen, dict(certificates)))
        for method, row in certificates.items():
            self.rows.setdefault(method, []).append(row)

    def lines(self) -> Iterator[Line]:
        """The lines of the plan and its inputs."""
        methods = {method: self._forms(rows) for method, rows in self.rows.items()}
        plan: Line = {
            "plan": self.name,
            "about": self.about,
            "noise": noise_line(self.law),
            "grid": self.step,
            "alpha": self.alpha,
            "methods": methods,
        }
        yield plan if self.family is None else plan | {"family": self.family}
        for index, moved, seen, certificates in self.inputs:
            yield self._input(index, moved, seen, certificates, methods)

    def _forms(self, rows: list[Row]) -> list[Line]:
        """What the certificates of a method share: forms, with what differs as chosen."""
        shapes: dict[Any, list[Row]] = {}
        for row in rows:
            shape = tuple(
                (streams_of(row).index(each.law), each.event, each.side) for each in row.known
            )
            shapes.setdefault((row.planned is None, shape), []).append(row)
        forms = []
        for place, ((given, shape), alike) in enumerate(shapes.items()):
            laws = [
                {json.dumps(law_line(law)) for law in column}
                for column in zip(*map(streams_of, alike), strict=True)
            ]
            for row in alike:
                row.form = place
            streams = [json.loads(next(iter(one))) if len(one) == 1 else "chosen" for one in laws]
            bounds = []
            for at, (stream, event, side) in enumerate(shape):
                line: Line = {"stream": stream, "event": event, "side": side}
                bounds.append(line | ({"given": True} if given else _plan_of(at, alike)))
            forms.append({"streams": streams, "bounds": bounds})
        return forms

    def _input(
        self,
        index: int | str,
        moved: float,
        seen: SampledInput | None,
        certificates: Mapping[str, Row],
        methods: Mapping[str, list[Line]],
    ) -> Line:
        ends: dict[NoiseLaw, set[int]] = {}
        for row in certificates.values():
            for bound, taken, value in zip(row.known, row.taken, row.values, strict=True):
                if value is not None:
                    ends.setdefault(bound.law, set()).update(taken.ends if taken else ())
        laws, streams = list(ends), []
        for law, needed in ends.items():
            counts: list[list[int]] = []
            if seen is not None:
                stream = Stream(ESTIMATION, law)
                counts = [list(seen.first(stream, end).counts) for end in sorted(needed)]
            streams.append({"law": law_line(law), "counts": counts})
        written = {
            method: _certificate(row, laws, methods[method][row.form])
            for method, row in certificates.items()
        }
        return {
            "plan": self.name,
            "input": index,
            "moved": moved,
            "streams": streams,
            "certificates": written,
        }


def streams_of(row: Row) -> list[NoiseLaw]:
    """The laws of a row's bounds, each once."""
    return list(dict.fromkeys(each.law for each in row.known))


def _plan_of(at: int, rows: Iterable[Row]) -> Line:
    """The looks of a bound where all rows have the same ones, or the alpha that they share."""
    looks, thens = [], set()
    for row in rows:
        assert row.planned is not None
        looks.append(_looks(row.planned[at]))
        thens.add(row.planned[at].then)
    if all(each == looks[0] for each in looks):
        (then,) = thens
        return {"looks": looks[0]} | ({} if then is None else {"then": then})
    return {"alpha": max(map(_total, looks))}


def _total(looks: list[list[Any]]) -> float:
    """The sum of shares of alpha, rounded up."""
    exact = sum(Fraction(alpha) for _, alpha in looks)
    total = float(exact)
    return total if Fraction(total) >= exact else math.nextafter(total, 1.0)


def _certificate(row: Row, laws: list[NoiseLaw], form: Line) -> Line:
    values: list[Line | None] = []
    for at, value in enumerate(row.values):
        line: Line | None = None
        if value is not None:
            line, taken = {"value": value}, row.taken[at]
            if taken is not None and row.planned is not None:
                line["look"] = taken.look
                if "alpha" in form["bounds"][at]:
                    line["looks"] = _looks(row.planned[at])
        values.append(line)
    return {
        "form": row.form,
        "class": row.target,
        "streams": [laws.index(law) if law in laws else None for law in streams_of(row)],
        "bounds": values,
        "claims": row.claims,
    }
