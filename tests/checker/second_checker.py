"""A second checker of proof files "dsrs-proof-1", written from checker/FORMAT.md alone.

It proves what needs no integral: Gaussian Neyman-Pearson certificates, `sure`, `any` and `all` of
them. What needs an integral is "unknown", its structure is checked all the same; of sets and
attacks only the types are. Where the page leaves a choice the stricter reading is taken.
"""

from __future__ import annotations

import json
import math
import sys
from collections import Counter
from fractions import Fraction as F
from itertools import cycle, pairwise
from pathlib import Path
from typing import Any

from mpmath import iv

NOT, UNKNOWN, PROVED = 0, 1, 2
WORDS = ("not proved", "unknown", "proved")
EXACT, LONGEST, SCALE = 128, 200_000, 1 << 128  # binomials: exact to, none above, fixed point


class Unreadable(ValueError):
    """The file as a whole is refused."""


class Refused(ValueError):
    """A line or a certificate breaks a rule and proves nothing."""


def need(holds: bool, reason: str) -> None:
    if not holds:
        raise Refused(reason)


def real(x: F | int) -> Any:
    return iv.mpf(x.numerator) / iv.mpf(x.denominator)


def tail(n: int, p: F, x: int) -> Any:
    """An interval around Pr[Binomial(n, p) >= x] for 0 < p < 1."""
    if x > n:
        return iv.mpf(0)
    if x <= n * p:
        return 1 - tail(n, 1 - p, n - x + 1)
    u, w, k = p.numerator, p.denominator - p.numerator, x
    below = above = low = high = SCALE  # terms and sums over the first term; from here they fall
    while k < n and above > 1:
        below = below * (n - k) * u // ((k + 1) * w)
        above = -(-above * (n - k) * u // ((k + 1) * w))
        low, high, k = low + below, high + above, k + 1
    ratio = F((n - k) * u, (k + 1) * w)
    high += math.ceil(above * ratio / (1 - ratio))
    log = iv.log(iv.mpf(math.comb(n, x))) + x * iv.log(real(p)) + (n - x) * iv.log(real(1 - p))
    return iv.exp(log) * iv.mpf([low, high]) / SCALE


def rare(n: int, p: F, x: int, a: F, first: int = 0) -> bool:
    """Is p^first Pr[Binomial(n, p) >= x] <= a for certain?"""
    if p >= 1:
        return False
    if n + first <= EXACT:
        u, w = p.numerator, p.denominator
        total = sum(math.comb(n, k) * u**k * (w - u) ** (n - k) for k in range(x, n + 1))
        return bool(total * u**first <= a * w ** (n + first))
    return bool(iv.exp(first * iv.log(real(p))) * tail(n, p, x) <= real(a))


def phi(x: Any) -> Any:
    """An interval around the normal distribution function at 0 < x < 12."""
    term, total, k = x, x, 1
    while not (bool(2 * x * x <= k) and bool(term < iv.mpf(2) ** -200)):
        k += 2
        term = term * x * x / k
        total += term
    total += term * iv.mpf([0, 1])  # each further term is at most half of the one before
    return iv.mpf(0.5) + total * iv.exp(-x * x / 2) / iv.sqrt(2 * iv.pi)


def read(value: Any, shape: Any) -> Any:
    """Shapes: str, int (a count), F(raction), {texts}, [shape] of a list, (shape, ...) of one
    of that length, {"field": shape, "missing?": shape}, {"*": shape}, or a function."""
    if isinstance(shape, dict):
        need(isinstance(value, dict), "no object")
        if "*" in shape:
            return {name: read(part, shape["*"]) for name, part in value.items()}
        known = {name.rstrip("?"): part for name, part in shape.items()}
        wrong = (set(value) - set(known)) | (set(shape) & set(known)) - set(value)
        need(not wrong, f"fields missing or unknown: {sorted(wrong)!a}")
        return {name: read(part, known[name]) for name, part in value.items()}
    if isinstance(shape, list | tuple):
        fits = isinstance(value, list) and (isinstance(shape, list) or len(shape) == len(value))
        need(fits, "no list, or one of another length")
        return [read(v, part) for v, part in zip(value, cycle(shape), strict=False)]
    if shape is F:
        need(type(value) in (int, float) and abs(value) <= sys.float_info.max, "no number")
        return F(float(value))
    if callable(shape) and shape not in (int, str):
        return shape(value)
    count, word = type(value) is int and 0 <= value <= 2**53, isinstance(value, str)
    need(count if shape is int else word and (shape is str or value in shape), f"no {shape}")
    return value


def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
    need(len(dict(items)) == len(items), "a field is repeated")
    return dict(items)


def either(fixed: Any, shape: Any, means: Any = None) -> Any:
    same = (type(fixed), fixed)
    return lambda v: (means or v) if (type(v), v) == same else read(v, shape)


def bound(value: Any) -> Any:
    kind = next((kind for kind in ("given", "alpha") if kind in value), "looks")
    b = read(value, KINDS[kind])
    looks = b.get("looks", [])
    check_looks(looks)
    b.setdefault("alpha", sum((a for _, a in looks), F(0)))
    need(b["alpha"] >= 0 and (b["event"], b["side"]) != ("others", "upper"), "no such bound")
    fits = (b["event"], b["side"], len(looks)) == ("class", "lower", 1)
    need("then" not in b or (fits and b["then"] > looks[0][0]), "then does not fit its bound")
    return b


def check_looks(looks: list[Any], most: F | None = None) -> None:
    rising = all(a[0] < b[0] for a, b in pairwise([(0, 0), *looks]))
    need(rising and all(a >= 0 for _, a in looks), "votes must rise from 1 on, shares be >= 0")
    need(most is None or sum(a for _, a in looks) <= most, "the looks spend more than their alpha")


def proof(value: Any) -> Any:
    kind, content = next(iter(read(value, ABOUT).items()), ("", None))
    need(len(value) == 1 and kind in PROOFS and content != [], "no proof")
    return kind, read(content, PROOFS[kind])


ABOUT, LABEL = {"*": lambda v: v}, lambda v: read(v, str if isinstance(v, str) else int)
LIMIT, LOOKS, MAYBE = either("inf", F, math.inf), [(int, F)], either(None, F)
LAW = either(None, [(F, LIMIT, F, F, F)])
BOUND: Any = {"stream": int, "event": {"class", "others"}, "side": {"lower", "upper"}}
KINDS = {"given": BOUND | {"given": either(True, set())}, "alpha": BOUND | {"alpha": F},
         "looks": BOUND | {"looks": LOOKS, "then?": int}}  # fmt: skip
EVENT = {"bounds": [int], "steps": [{"shift": F, "multipliers": [F]}]}
PROOFS = {"gaussian": int, "sure": int, "majority": EVENT, "lead": (EVENT, EVENT), "any": [proof],
          "all": [proof]}  # fmt: skip
VALUE = {"value": F, "look?": int, "looks?": LOOKS}
CERTIFICATE = {"form": int, "class": int, "merged?": [int], "kept?": [int],
               "streams": [either(None, int)], "bounds": [either(None, VALUE)],
               "claims": [{"radius": LIMIT, "proof": proof}]}  # fmt: skip
LINES = {
    "noise": {"plan": str, "about": ABOUT, "alpha": MAYBE, "family?": {"alpha": F, "size": int},
              "grid": MAYBE, "noise": {"d": int, "sigma": F, "k": F, "eta": F},
              "methods": {"*": [{"streams": [either("chosen", LAW)], "bounds": [bound]}]}},
    "input": {"plan": str, "input": LABEL, "moved": F, "streams": [{"law": LAW, "counts": [[int]]}],
              "certificates": {"*": lambda v: read(v, {"unproved": str} if "unproved" in v
                                                   else CERTIFICATE)}},
    "sets": {"plan": str, "sets": str, "coverage": F, "radius": F, "aside": F, "draws": int,
             "confidence": MAYBE, "multiplier": F, "overlap": F, "level": F, "rank": int,
             "calibration": {"inputs": int, "draws": int}, "scores": [F], "threshold": LIMIT},
    "attack": {"plan": str, "attack": LABEL, "method": str, "class": int, "distance": F,
               "points": [F], "point": int, "rival": int, "counts": [int],
               "shows": {"majority lost", "answer changed"}, "of": {"majority", "lead"}},
}  # fmt: skip


class Plan:
    def __init__(self, v: Any) -> None:
        self.d, self.sigma, k, eta = (v["noise"][name] for name in ("d", "sigma", "k", "eta"))
        need(self.d >= 2 and self.sigma > 0 and eta > 0 and 0 <= 2 * k < self.d, "no such noise")
        self.m, self.gaussian = (self.d - 2 * k) / eta, (k, eta) == (0, 2)
        self.grid, self.alpha, self.methods = v["grid"], v["alpha"], v["methods"]
        need(self.grid is None or self.grid > 0, "the step of the grid is not positive")
        need(self.alpha is None or 0 < self.alpha < 1, "alpha is not between 0 and 1")
        family, alpha = v.get("family", {"size": math.inf, "alpha": math.inf}), self.alpha or 0
        self.size = family["size"]
        need("family" not in v or self.size * alpha <= family["alpha"], "the family spends more")
        for form in (form for forms in self.methods.values() for form in forms):
            bounds, laws = form["bounds"], form["streams"]
            for law in laws:
                self.check_law(None if law == "chosen" else law)
            need(all(b["stream"] < len(laws) for b in bounds), "a bound without a stream")
            kinds = {(b["stream"], b["event"], b["side"]) for b in bounds}
            need(len(kinds) == len(bounds), "two bounds agree in stream, event and side")
            need(self.alpha is not None or all("given" in b for b in bounds), "no alpha for bounds")
            need(sum(b["alpha"] for b in bounds) <= alpha, "a form spends more than alpha")

    def check_law(self, law: list[Any] | None) -> None:
        for start, stop, _, slope, rate in law or ():
            need(0 <= start < stop and (start > 0 or self.m + slope > 0), "a piece of a law")
            need(stop < math.inf or rate > -1 or (rate == -1 and self.m + slope < 0), "its mass")
        need(law != [] and all(a[1] <= b[0] for a, b in pairwise(law or ())), "pieces of a law")

    def charge(self, law: list[Any] | None) -> F | None:
        """What bounds from votes under the law are charged, where that needs no integral."""
        if self.grid is None:
            return F(0)
        [piece, *more] = law or [[0, math.inf, 0, 0, F(0)]]
        if not self.gaussian or more or piece[:2] != [0, math.inf] or piece[3] != 0:
            return None
        square = self.d * (self.d - F(1, 2)) * self.sigma**2 / (1 + piece[4]) / self.grid**2
        root = F(math.isqrt(int(square * 4**300)) + 1, 2**300)  # at least sqrt(d) M / h
        return F(min(F(16, 2**53) * (4 * self.d + 2 * root), 1))


def check_value(plan: Plan, b: Any, value: Any, stream: Any, own: Any, aside: Any) -> int:
    need(stream is not None and 0 <= value["value"] <= 1, "no stream, or no value in [0, 1]")
    asked = ("given" not in b, "given" not in b and "looks" not in b)
    need(("look" in value, "looks" in value) == asked, "look or looks do not fit the form")
    if "given" in b:
        return PROVED

    def hits(row: list[int]) -> int:
        need(max(own) < len(row), "the votes have no such class")
        if b["event"] == "class":
            return sum(row[c] for c in own)
        return sum(row) - max((x for c, x in enumerate(row) if c not in aside), default=0)

    looks = value.get("looks", b.get("looks"))
    check_looks(looks, b["alpha"])
    need(value["look"] < len(looks), "no such look")
    (n, a), rows, first = looks[value["look"]], {sum(row): row for row in stream["counts"]}, 0
    need(n in rows, "the votes of the look are not there")
    x, then = hits(rows[n]), b.get("then")
    if x == n and then in rows:
        first, n, x = n, then - n, hits(rows[then]) - n
    p, x = (value["value"], x) if b["side"] == "lower" else (1 - value["value"], n - x)
    charge = plan.charge(stream["law"])
    long = n + first > LONGEST
    need(p == 0 or long or rare(n, p + (charge or 0), x, a, first), "a value does not follow")
    return UNKNOWN if long or charge is None else PROVED


def prove(plan: Plan, taken: list[Any], reach: Any, kind: str, content: Any) -> int:
    if kind in ("any", "all"):
        levels = [prove(plan, taken, reach, *part) for part in content]
        return max(levels) if kind == "any" else min(levels)
    for i, event in enumerate({"majority": [content], "lead": content}.get(kind, [])):
        allowed = {("class", "lower"), ("others", "lower") if i else ("class", "upper")}
        kinds = [(taken[j] or ())[:2] if j < len(taken) else () for j in event["bounds"]]
        need(bool(kinds) and set(kinds) <= allowed, "an event lacks its bounds")
        shifts = [step["shift"] for step in event["steps"]]
        falling = shifts[-1:] > [0] and all(a > b for a, b in pairwise(shifts))
        need(falling and shifts[0] >= reach, "the shifts do not fall or do not cover the reach")
        for some in (step["multipliers"] for step in event["steps"]):
            signed = [x if "lower" in k else -x for x, k in zip(some, kinds, strict=True)]
            need(any(some) and min(signed) >= 0, "multipliers are 0 or have a wrong sign")
    if kind in ("majority", "lead"):
        return UNKNOWN
    event, side, value, law = (taken[content] if content < len(taken) else None) or [None] * 4
    need((event, side) == ("class", "lower"), "a proof lacks its bound")
    if kind == "sure":
        ends = [0, *(end for piece in law or [] for end in piece[:2]), math.inf]
        full = law is None or all(a == b for a, b in zip(ends[::2], ends[1::2], strict=True))
        return PROVED * bool(value == 1 and full)
    need(law is None and plan.gaussian, "gaussian needs a bound under a Gaussian P")
    z = reach / plan.sigma
    if z >= 12 or value == 1:  # no double below 1 is above Phi(12)
        return PROVED * bool(value == 1 and z < math.inf)
    return PROVED * bool(phi(real(z)) < real(value))


def judge(plan: Plan, line: Any, method: str, c: Any) -> tuple[int, str]:
    need("unproved" not in c, f"the writer gives no proof: {c.get('unproved')!a}")
    need(c["form"] < len(plan.methods.get(method, [])), "no such method or form")
    form = plan.methods[method][c["form"]]
    own = c.get("merged", [c["class"]])
    aside = c.get("kept", own)
    need(not {"merged", "kept"} <= set(c) and c["class"] in set(own) & set(aside), "merged or kept")
    need(all(len(set(s)) == len(s) for s in (own, aside)), "a set has a class twice")
    need(all(i is None or i < len(line["streams"]) for i in c["streams"]), "no such stream")
    streams = [None if i is None else line["streams"][i] for i in c["streams"]]
    for stream, law in zip(streams, form["streams"], strict=True):
        need(stream is None or law in ("chosen", stream["law"]), "a stream has another law")
    need(c["claims"] and all(claim["radius"] > 0 for claim in c["claims"]), "no claim or radius")
    levels, taken, said = [PROVED], [], f"alpha {plan.alpha and float(plan.alpha)}"
    for b, value in zip(form["bounds"], c["bounds"], strict=True):
        stream = streams[b["stream"]]
        if value:
            levels.append(check_value(plan, b, value, stream, own, aside))
            said += ", under an assumption" * ("given" in b)
        taken.append(value and (b["event"], b["side"], value["value"], stream["law"]))
    for claim in c["claims"]:
        levels.append(prove(plan, taken, claim["radius"] + line["moved"], *claim["proof"]))
    said += "".join(f", {name} {c[name]}" for name in ("merged", "kept") if name in c)
    return min(levels), ("a claim does not follow", "needs an integral", said)[min(levels)]


def judge_line(v: Any, plans: dict[str, Any]) -> list[tuple[str, int, str, Plan | None]]:
    kind = next((kind for kind in LINES if kind in v), "input")
    if isinstance(v, dict) and "unproved" in v:
        v = read(v, {"unproved": str, "reason": str})
        return [(f"lost {v['unproved']}", NOT, v["reason"], None)]
    v = read(v, LINES[kind])
    if kind == "noise":
        need(v["plan"] not in plans, "two plans have one name")
        plans[v["plan"]] = Plan(v)
        return []
    plan: Any = plans.get(v["plan"])
    need(plan is not None, "not one plan of this name stands before")
    if kind != "input":
        return [(f"{kind} {v[kind]}", UNKNOWN, "only the types are checked", None)]
    need(v["moved"] >= 0, "moved by less than nothing")
    laws, results = [stream["law"] for stream in v["streams"]], []
    need(all(a != b for i, a in enumerate(laws) for b in laws[:i]), "two streams have one law")
    for stream in v["streams"]:
        plan.check_law(stream["law"])
        for a, b in pairwise(stream["counts"]):
            need(all(x <= y for x, y in zip(a, b, strict=True)), "a class falls")
            need(sum(a) < sum(b), "the sums of the rows do not rise")
    for method, c in v["certificates"].items():
        try:
            level, reason = judge(plan, v, method, c)
        except ValueError as error:  # also of lists of different lengths
            level, reason = NOT, str(error)
        results.append((f"input {v['input']}, {method}", level, reason, plan))
    return results


def check(content: bytes) -> list[tuple[str, str, str]]:
    """Name, "proved", "not proved" or "unknown", and the reason, for all the file would prove."""
    iv.prec, plans, results = 256, dict[str, Plan | None](), []
    strict = json.JSONDecoder(object_pairs_hook=pairs, parse_constant=lambda _: need(False, "NaN"))
    try:
        lines = [line for line in content.decode("utf-8").split("\n") if line.strip(" \t\r")]
        read(strict.decode(lines[0]), {"format": {"dsrs-proof-1"}, "about": ABOUT})
    except (ValueError, IndexError, RecursionError) as error:
        raise Unreadable(f"no proof file: {error!a}") from None
    for place, line in enumerate(lines[1:], 2):
        try:
            results += judge_line(strict.decode(line), plans)
        except (ValueError, TypeError, RecursionError) as error:
            raise Unreadable(f"line {place}: {error!a}") from None
    often = Counter(name for name, *_ in results if not name.startswith("lost "))
    standing = Counter(plan for *_, plan in results if plan)
    if any(times > 1 for times in often.values()) or any(n > p.size for p, n in standing.items()):
        raise Unreadable("something stands twice, or a family is too large")
    return [(name.removeprefix("lost "), WORDS[level], why) for name, level, why, _ in results]


def main(path: str) -> None:
    print("\n".join(map(ascii, check(Path(path).read_bytes()))))


if __name__ == "__main__":
    main(sys.argv[1])
