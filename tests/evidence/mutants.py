"""Mutants of proof files: one or two numbers of an honest file changed, so that it claims more.

A mutant is yielded only where what it says is not true of the votes in it, or does not follow: by
the rule beside each kind, never by what the checker says. Radii, bounds and shares of alpha of
honest runs leave less room than the changes that are made here; what would be weaker than the
original (a shorter radius, a smaller lower bound, more alpha) is not made.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import stats

from dsrs.laws import GeneralizedGaussian
from dsrs.proofs import neyman_pearson

Line = dict[str, Any]
Lines = list[Line]
Mutants = Iterator[Lines]
MORE = 1e-5  # what honest radii, rounded down, are away from the largest ones by far less
TINY = 1e-6  # what bounds may be below the Clopper-Pearson bound, charged for the grid


def changed(lines: Lines, place: tuple[Any, ...], value: Any) -> Lines:
    """The file with another value at one place."""
    found = copy.deepcopy(lines)
    at: Any = found
    for key in place[:-1]:
        at = at[key]
    at[place[-1]] = value
    return found


def at(lines: Lines, place: tuple[Any, ...]) -> Any:
    found: Any = lines
    for key in place:
        found = found[key]
    return found


def certificates(lines: Lines) -> Iterator[tuple[int, str, Line]]:
    """The place of the input, the method and the certificate."""
    for number, line in enumerate(lines):
        for method, certificate in line.get("certificates", {}).items():
            yield number, method, certificate


def plan_of(lines: Lines, number: int) -> int:
    """The place of the plan of an input."""
    name = lines[number]["plan"]
    return next(n for n, line in enumerate(lines) if "methods" in line and line["plan"] == name)


def form_of(lines: Lines, number: int, method: str) -> tuple[Any, ...]:
    certificate = lines[number]["certificates"][method]
    return (plan_of(lines, number), "methods", method, certificate["form"])


def used_bounds(node: Line) -> set[int]:
    """The bounds that a proof rests on: with a multiplier other than 0 in its first step."""
    ((way, value),) = node.items()
    if way in ("sure", "gaussian"):
        return {value}
    if way in ("any", "all"):
        return set().union(*map(used_bounds, value))
    events = value if way == "lead" else [value]
    return {
        bound
        for event in events
        for bound, multiplier in zip(event["bounds"], event["steps"][0]["multipliers"], strict=True)
        if multiplier
    }


def claims_of(certificate: Line) -> Iterator[tuple[int, Line, set[int]]]:
    for number, claim in enumerate(certificate["claims"]):
        yield number, claim, used_bounds(claim["proof"])


def steps_of(place: tuple[Any, ...], node: Line) -> Iterator[tuple[tuple[Any, ...], Line]]:
    """Where the first steps of a proof stand."""
    ((way, value),) = node.items()
    if way == "majority":
        yield (*place, way, "steps", 0), value["steps"][0]
    elif way == "lead":
        for number, event in enumerate(value):
            yield (*place, way, number, "steps", 0), event["steps"][0]


# ------------------------------------------------------------------------ one kind after another


def radii(lines: Lines, generator: np.random.Generator) -> Mutants:
    """A longer radius, alone and with steps that reach it; an infinite one."""
    for number, method, certificate in certificates(lines):
        for place, claim, _ in claims_of(certificate):
            where = (number, "certificates", method, "claims", place)
            if claim["radius"] == "inf":
                continue
            for factor in (1 + MORE, 1.01, 2.0):
                longer = changed(lines, (*where, "radius"), claim["radius"] * factor)
                yield longer
                reaching = longer
                for step, values in steps_of((*where, "proof"), claim["proof"]):
                    reaching = changed(reaching, (*step, "shift"), values["shift"] * factor)
                yield reaching
            yield changed(lines, (*where, "radius"), "inf")


def shifts(lines: Lines, generator: np.random.Generator) -> Mutants:
    """Steps that do not reach the radius, steps that reach farther than they prove, none."""
    for number, method, certificate in certificates(lines):
        for place, claim, _ in claims_of(certificate):
            where = (number, "certificates", method, "claims", place, "proof")
            for step, values in steps_of(where, claim["proof"]):
                for factor in (1 - MORE, 0.5, 0.0, -1.0, 1.01, 3.0):
                    # A shorter step does not reach; a longer one proves less than a majority.
                    if factor > 1 and len(values["multipliers"]) == 0:
                        continue
                    yield changed(lines, (*step, "shift"), values["shift"] * factor)
                yield changed(lines, step[:-1], [])


def multipliers(lines: Lines, generator: np.random.Generator) -> Mutants:
    """None at all, on the wrong side of its bound, or far from the best: they prove less.

    A change of them claims no more, but honest proofs reach as far as the best ones: with twice as
    many of the largest one half is no longer proved.
    """
    for number, method, certificate in certificates(lines):
        for place, claim, _ in claims_of(certificate):
            where = (number, "certificates", method, "claims", place, "proof")
            for step, values in steps_of(where, claim["proof"]):
                numbers = values["multipliers"]
                largest = max(range(len(numbers)), key=lambda i: abs(numbers[i]))
                if not numbers[largest]:
                    continue
                for factor in (-1.0, 2.0, 0.5):
                    changes = (*step, "multipliers", largest)
                    yield changed(lines, changes, numbers[largest] * factor)
                yield changed(lines, (*step, "multipliers"), [0.0] * len(numbers))
                yield changed(lines, (*step, "multipliers"), [*numbers, 1.0])
                yield changed(lines, (*step, "multipliers"), numbers[1:])


def values(lines: Lines, generator: np.random.Generator) -> Mutants:
    """Bounds that the votes do not show, bounds that were not taken, beyond 0 and 1."""
    for number, method, certificate in certificates(lines):
        form = at(lines, form_of(lines, number, method))
        used = set().union(*(bounds for *_, bounds in claims_of(certificate)))
        for place, value in enumerate(certificate["bounds"]):
            if value is None:
                continue
            where = (number, "certificates", method, "bounds", place)
            planned, known = form["bounds"][place], value["value"]
            sign = 1 if planned["side"] == "lower" else -1
            if not planned.get("given"):
                for more in (TINY, 1e-3, 0.3):
                    yield changed(lines, (*where, "value"), known + sign * more)
            yield changed(lines, (*where, "value"), 1.5)
            yield changed(lines, (*where, "value"), -0.5)
            if place in used:
                yield changed(lines, where, None)
                yield changed(lines, (*where, "value"), 0.0 if sign > 0 else 1.0)


def counts(lines: Lines, generator: np.random.Generator) -> Mutants:
    """Votes for the class given to another one, votes against a rival given to it; other sums."""
    for number, method, certificate in certificates(lines):
        form = at(lines, form_of(lines, number, method))
        for place, value in enumerate(certificate["bounds"]):
            planned = form["bounds"][place]
            if value is None or planned.get("given"):
                continue
            stream = certificate["streams"][planned["stream"]]
            rows = lines[number]["streams"][stream]["counts"]
            where = (number, "streams", stream, "counts")
            target, last = certificate["class"], len(rows) - 1
            rivals = [c for c in range(len(rows[0])) if c != target]
            worst = max(rivals, key=lambda c: rows[last][c])
            to_class = planned["side"] == "upper"
            for many in (1, 5, 50):
                # Of all rows: the votes come first.
                moved = copy.deepcopy(rows)
                source, sink = (worst, target) if to_class else (target, worst)
                for row in moved:
                    row[source] -= many
                    row[sink] += many
                if min(map(min, moved)) >= 0:
                    yield changed(lines, where, moved)
            yield changed(lines, where, [[n + (c == target) for c, n in enumerate(row)]
                                         for row in rows])  # fmt: skip
            yield changed(lines, where, rows[:-1])
            yield changed(lines, where, [*rows, rows[-1]])
            yield changed(lines, where, [*rows, [0] * len(rows[0])])
            yield changed(lines, where, [[-n for n in row] for row in rows])
            yield changed(lines, where, [[float(n) for n in row] for row in rows])


def classes(lines: Lines, generator: np.random.Generator) -> Mutants:
    """Another class, which has fewer votes; classes counted as one, without the certified one."""
    for number, method, certificate in certificates(lines):
        form = at(lines, form_of(lines, number, method))
        if all(bound.get("given") for bound in form["bounds"]):
            continue
        streams = lines[number]["streams"]
        where, target = (number, "certificates", method), certificate["class"]
        rows = [streams[s]["counts"][-1] for s in certificate["streams"] if s is not None]
        width = len(rows[0])
        for other in range(width + 1):
            if other >= width or all(row[other] < row[target] for row in rows):
                yield changed(lines, (*where, "class"), other)
                for word in ("merged", "kept"):
                    yield changed(lines, (*where, word), [other])
                    yield changed(lines, (*where, word), [target, target])
        both = changed(lines, (*where, "merged"), [target])
        yield changed(both, (*where, "kept"), [target])


def looks(lines: Lines, generator: np.random.Generator) -> Mutants:
    """Other numbers of votes, other shares of alpha, other looks, shares that add up to more."""
    for number, method, certificate in certificates(lines):
        form = form_of(lines, number, method)
        alpha = lines[form[0]]["alpha"]
        for place, bound in enumerate(at(lines, form)["bounds"]):
            value = certificate["bounds"][place]
            own = value is not None and "looks" in value
            if not ("looks" in bound or own):
                continue
            where = (*form, "bounds", place, "looks")
            if own:
                where = (number, "certificates", method, "bounds", place, "looks")
            planned = at(lines, where)
            taken = None if value is None else value["look"]
            # All of alpha for one share: the others make it too much.
            others = sum(
                share for n, each in enumerate(at(lines, form)["bounds"])
                for _, share in each.get("looks", [(0, each.get("alpha", 0))]) if n != place
            )  # fmt: skip
            spent = sum(share for _, share in planned)
            for n, (votes, share) in enumerate(planned):
                yield changed(lines, (*where, n, 1), -share)
                yield changed(lines, (*where, n), [votes])
                more = share + 1.001 * (alpha - spent - others) + 1e-3 * share
                yield changed(lines, (*where, n, 1), more)
                if n == taken:
                    yield changed(lines, (*where, n, 1), 0.9 * share)
                    yield changed(lines, (*where, n, 1), 0.0)
                    yield changed(lines, (*where, n, 0), votes + 1)
                    yield changed(lines, (*where, n, 0), 0)
            yield changed(lines, where, [*planned, planned[-1]])
            yield changed(lines, where, [])
            if taken is not None:
                look = (number, "certificates", method, "bounds", place, "look")
                yield changed(lines, look, len(planned))
                yield changed(lines, look, taken + 1)
                if taken:
                    yield changed(lines, look, taken - 1)
            if not own:
                repeated = copy.deepcopy(at(lines, (*form, "bounds")))
                repeated.append(repeated[place])
                yield changed(lines, (*form, "bounds"), repeated)


def stages(lines: Lines, generator: np.random.Generator) -> Mutants:
    """A bound of two stages without its second one, or with another one."""
    for number, method, certificate in certificates(lines):
        form = form_of(lines, number, method)
        for place, bound in enumerate(at(lines, form)["bounds"]):
            value = certificate["bounds"][place]
            if "then" not in bound or value is None:
                continue
            where = (*form, "bounds", place, "then")
            stream = lines[number]["streams"][certificate["streams"][bound["stream"]]]
            first = bound["looks"][0][0]
            row = next(row for row in stream["counts"] if sum(row) == first)
            went_on = row[certificate["class"]] == first and len(stream["counts"]) > 1
            yield changed(lines, where, first)
            yield changed(lines, where, 0)
            yield changed(lines, where, None)
            if went_on:
                # The first votes alone show less than all of them.
                yield changed(lines, where, bound["then"] + 1)
                gone = copy.deepcopy(lines)
                del gone[where[0]][where[1]][where[2]][where[3]]["bounds"][place]["then"]
                yield gone


def plans(lines: Lines, generator: np.random.Generator) -> Mutants:
    """Less alpha than is spent, smaller families, more charges, other noise, no such law."""
    for number, plan in enumerate(lines):
        if "methods" not in plan:
            continue
        users = [at for at, _, _ in certificates(lines) if lines[at]["plan"] == plan["plan"]]
        if plan["alpha"] is not None and users:
            for alpha in (0.999 * plan["alpha"], 0.0, 1.0, -1e-3, None):
                yield changed(lines, (number, "alpha"), alpha)
        if "family" in plan:
            family = plan["family"]
            for change in (
                {"size": len(users) - 1}, {"size": 0}, {"size": 100 * family["size"]},
                {"alpha": 0.9 * plan["alpha"] * family["size"]}, {"alpha": 1.0}, {"size": 2.5},
            ):  # fmt: skip
                yield changed(lines, (number, "family"), family | change)
        elif plan["alpha"] is not None and users:
            family = {"alpha": 0.5 * plan["alpha"], "size": 1}
            yield changed(lines, (number, "family"), family)
        votes = any(lines[at]["streams"][0]["counts"] for at in users)
        if plan["grid"] is not None and votes:
            for finer in (0.5, 0.01, 0.0, -1.0):
                yield changed(lines, (number, "grid"), finer * plan["grid"])
        noise = plan["noise"]
        finite = all(
            claim["radius"] != "inf"
            for at in users
            for certificate in lines[at]["certificates"].values()
            for claim in certificate["claims"]
        )
        if users and finite:
            # Radii are lengths: with less noise they are shorter.
            for change in ({"sigma": 0.99 * noise["sigma"]}, {"sigma": 0.5 * noise["sigma"]}):
                yield changed(lines, (number, "noise"), noise | change)
        if users:
            for change in (
                {"sigma": 0.0}, {"sigma": -noise["sigma"]}, {"d": 1}, {"d": 2.5}, {"eta": 0.0},
                {"k": noise["d"] / 2}, {"k": -1.0}, {"sigma": "inf"}, {"beta": 1.0},
            ):  # fmt: skip
                yield changed(lines, (number, "noise"), noise | change)
            yield changed(lines, (number, "methods"), {})
            for method in plan["methods"]:
                yield changed(lines, (number, "methods", method), [])


def repeats(lines: Lines, generator: np.random.Generator) -> Mutants:
    """The same input, plan or stream twice; inputs moved farther than the proofs reach."""
    for number, line in enumerate(lines):
        if "certificates" in line:
            yield [*lines, line]
            yield changed(lines, (number, "streams"), [*line["streams"], *line["streams"]])
            yield changed(lines, (number, "plan"), "another")
            finite = [
                claim["radius"]
                for certificate in line["certificates"].values()
                for claim in certificate["claims"]
                if claim["radius"] != "inf"
            ]
            if finite:
                for more in (MORE, 0.1, 1.0):
                    yield changed(lines, (number, "moved"), line["moved"] + more * max(finite))
            yield changed(lines, (number, "moved"), -1.0)
            for method, certificate in line["certificates"].items():
                where = (number, "certificates", method, "streams")
                for place, stream in enumerate(certificate["streams"]):
                    taken = any(
                        bound["stream"] == place and value is not None
                        for bound, value in zip(
                            at(lines, form_of(lines, number, method))["bounds"],
                            certificate["bounds"], strict=True,
                        )
                    )  # fmt: skip
                    if stream is not None and taken:
                        yield changed(lines, (*where, place), None)
                    yield changed(lines, (*where, place), len(line["streams"]))
                yield changed(lines, (*where[:-1], "claims"), [])
        elif "methods" in line:
            yield [*lines[: number + 1], line, *lines[number + 1 :]]
            yield [*lines[:number], *lines[number + 1 :], line]


def radius_under_p(noise: Line, value: float) -> float:
    """The radius that a lower bound under P alone proves."""
    if value >= 1:
        return math.inf
    steps = neyman_pearson(GeneralizedGaussian(**noise), value, 0)
    return steps[0].radius if steps else 0.0


def laws(lines: Lines, generator: np.random.Generator) -> Mutants:
    """Votes under another law than was planned; broken laws; P where it proves less."""
    broken: list[Any] = [
        [], [[0, "inf", 0, 0, -1]], [[0, "inf", 0, 0, -2]], [[1, 1, 0, 0, 0]], [[5, 2, 0, 0, 0]],
        [[0, 3, 0, 0, 0], [2, 4, 0, 0, 0]], [[0, 1, 0, -1e9, 0]], "chosen", 5, [[0, 1, 0, 0]],
        [[-1, 1, 0, 0, 0]], [[0, 1, "inf", 0, 0]],
    ]  # fmt: skip
    for number, method, certificate in certificates(lines):
        form = form_of(lines, number, method)
        plan, line = lines[form[0]], lines[number]
        used = set().union(*(bounds for *_, bounds in claims_of(certificate)))
        for place, stream in enumerate(certificate["streams"]):
            if stream is None:
                continue
            law = line["streams"][stream]["law"]
            planned = (*form, "streams", place)
            own = (number, "streams", stream, "law")
            bounds = [
                bound for bound in used if at(lines, form)["bounds"][bound]["stream"] == place
            ]
            if at(lines, planned) != "chosen":
                for other in (None, [[0, 12, 0, 0, 0]], [[0, "inf", 0, 0, 0.3]]):
                    if other != law:
                        yield changed(lines, planned, other)
                        yield changed(lines, own, other)
            if not bounds or law is None:
                continue
            for other in broken:
                yield changed(changed(lines, planned, "chosen"), own, other)
            farthest = max(
                claim["radius"]
                for _, claim, used_here in claims_of(certificate)
                if claim["radius"] != "inf" and used_here & set(bounds)
            )
            lower = [
                value["value"]
                for bound, value in enumerate(certificate["bounds"])
                if value is not None and at(lines, form)["bounds"][bound]["side"] == "lower"
            ]
            # Nothing but bounds under P would be left, the largest of which does not reach so far.
            taken = [each["law"] for n, each in enumerate(line["streams"]) if n != stream]
            others = any(each is not None for each in taken)
            if not others and radius_under_p(plan["noise"], max(lower)) < 0.999 * farthest:
                as_p = changed(changed(lines, planned, "chosen"), own, [[0, "inf", 0, 0, 0]])
                yield as_p


def sets(lines: Lines, generator: np.random.Generator) -> Mutants:
    """Sets that promise more than their scores and their overlap show."""
    for number, line in enumerate(lines):
        if "sets" not in line:
            continue
        scores, made = sorted(line["scores"]), line["calibration"]
        lower = max(line["rank"] - 2, 0)
        changes: list[Line] = [
            {"coverage": line["coverage"] + 0.05}, {"coverage": 1.5}, {"coverage": 0.0},
            {"level": line["level"] - 1e-3}, {"level": 0.5}, {"level": 1.5},
            {"overlap": line["overlap"] + 1e-6}, {"overlap": line["overlap"] + 0.1},
            {"overlap": 1.5}, {"multiplier": 0.0}, {"multiplier": -line["multiplier"]},
            {"rank": line["rank"] - 3, "threshold": scores[lower]}, {"rank": 0},
            {"threshold": line["threshold"] - 1e-6}, {"scores": line["scores"][1:]},
            {"calibration": made | {"inputs": made["inputs"] + 1}}, {"aside": -1.0},
            {"calibration": made | {"draws": 2 * made["draws"]}}, {"draws": 0}, {"radius": -1.0},
            {"scores": [score + 1e-6 for score in line["scores"]]}, {"plan": "another"},
            {"scores": []}, {"confidence": 1.0}, {"confidence": 1 - 1e-12},
        ]  # fmt: skip
        if line["radius"]:
            changes += [{"radius": 1.01 * line["radius"]}, {"aside": line["aside"] + 0.1},
                        {"multiplier": 1.5 * line["multiplier"]}]  # fmt: skip
        if line["draws"] == 1:
            changes.append({"draws": 3})
        for change in changes:
            found = copy.deepcopy(lines)
            found[number] = line | change
            yield found


def attacks(lines: Lines, generator: np.random.Generator) -> Mutants:
    """Points whose votes show nothing with their share of alpha."""
    for number, line in enumerate(lines):
        if "attack" not in line:
            continue
        votes, target, rival = line["counts"], line["class"], line["rival"]
        alpha = next(each["alpha"] for each in lines if each.get("plan") == line["plan"])
        even = list(votes)
        even[target], even[rival] = [(votes[target] + votes[rival]) // 2] * 2
        changes: list[Line] = [
            {"counts": even}, {"counts": [0] * len(votes)}, {"rival": target},
            {"class": rival, "rival": target}, {"point": len(line["points"])},
            {"points": []}, {"points": [2 * alpha] * len(line["points"])}, {"distance": -1.0},
            {"points": [*line["points"], alpha]}, {"points": [0.0] * len(line["points"])},
            {"shows": "nothing"}, {"of": "all"}, {"rival": len(votes)}, {"plan": "another"},
        ]  # fmt: skip
        n = sum(votes)
        for share in np.geomspace(1e-6, 1e-2, 4):
            few = [round(share * count) for count in votes]
            seen = few[target] + few[rival]
            chance = stats.binom.sf(few[rival] - 1, seen, 0.5) if seen else 1.0
            lost = stats.binom.sf(sum(few) - few[target] - 1, sum(few), 0.5) if n else 1.0
            need = max(chance, lost) if line["shows"] == "answer changed" else lost
            if need > 1.01 * line["points"][line["point"]]:
                changes.append({"counts": few})
        for change in changes:
            found = copy.deepcopy(lines)
            found[number] = line | change
            yield found
        yield [*lines, line]


KINDS: dict[str, Callable[[Lines, np.random.Generator], Mutants]] = {
    "radii": radii, "shifts": shifts, "multipliers": multipliers, "values": values,
    "counts": counts, "classes": classes, "looks": looks, "stages": stages, "plans": plans,
    "repeats": repeats, "laws": laws, "sets": sets, "attacks": attacks,
}  # fmt: skip
