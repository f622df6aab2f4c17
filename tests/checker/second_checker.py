"""A second checker of proof files "dsrs-proof-1", written from checker/FORMAT.md alone.

It proves what needs no integral: Gaussian Neyman-Pearson certificates, `sure`, `any` and `all` of
them, and attacks. All rules of structure are checked on every line; what needs the integral of
section 6, or the mean of another law for the charge of a grid, is "unknown". Arithmetic: whole
numbers and fractions, mpmath.iv for logarithms and exponentials. Where the page leaves a choice the
stricter reading is taken.
"""

from __future__ import annotations

import json
import math
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import cycle, pairwise
from pathlib import Path
from typing import Any

from mpmath import iv  # type: ignore[import-untyped]

NOT, UNKNOWN, PROVED = 0, 1, 2
WORDS = ("not proved", "unknown", "proved")
HALF = Fraction(1, 2)
EXACT, SCALE, STEPS = 128, 1 << 128, 1 << 20  # of binomial sums: exact up to; fixed point; terms

Verdict = tuple[str, str, str]
Law = list[list[Any]] | None  # pieces [start, stop, log, slope, rate]


class Unreadable(ValueError):
    """The file as a whole is refused."""


class Refused(ValueError):
    """A line or a certificate breaks a rule and proves nothing."""


def need(holds: bool, reason: str) -> None:
    if not holds:
        raise Refused(reason)


# Rigorous numbers: intervals of mpmath.iv are Any.


def real(x: Fraction | int) -> Any:
    return iv.mpf(x.numerator) / iv.mpf(x.denominator)


def ln_factorial(n: int) -> Any:
    if n <= 300:
        return iv.log(iv.mpf(math.factorial(n)))
    x = iv.mpf(n)  # Stirling: the error has the sign of the first term left out and is smaller
    terms = ((12, 1), (-360, 3), (1260, 5), (-1680, 7), (1188, 9))
    total = x * iv.log(x) - x + iv.log(2 * iv.pi * x) / 2 + iv.mpf([-1, 0]) * 691 / 360360 / x**11
    return total + sum(1 / (c * x**e) for c, e in terms)


def tail(n: int, p: Fraction, x: int) -> Any:
    """An interval around Pr[Binomial(n, p) >= x] for 0 <= p < 1."""
    if x <= 0 or x > n or p == 0:
        return iv.mpf(int(x <= 0))
    if x <= n * p:
        return 1 - tail(n, 1 - p, n - x + 1)
    u, w = p.numerator, p.denominator - p.numerator
    below = above = low = high = SCALE  # terms and sums over the first term; from here they fall
    k = x
    while k < n and above > 1 and k - x < STEPS:
        below = below * (n - k) * u // ((k + 1) * w)
        above = -(-above * (n - k) * u // ((k + 1) * w))
        low, high, k = low + below, high + above, k + 1
    ratio = Fraction((n - k) * u, (k + 1) * w)
    high += math.ceil(above * ratio / (1 - ratio))
    log = ln_factorial(n) - ln_factorial(x) - ln_factorial(n - x)
    log += x * iv.log(real(p)) + (n - x) * iv.log(real(1 - p))
    return iv.exp(log) * iv.mpf([low, high]) / SCALE


def rare(n: int, p: Fraction, x: int, a: Fraction, first: int = 0) -> bool:
    """Is p^first Pr[Binomial(n, p) >= x] <= a for certain?"""
    if not 0 <= p < 1:
        return False
    if n + first <= EXACT:
        u, w = p.numerator, p.denominator
        total = sum(math.comb(n, k) * u**k * (w - u) ** (n - k) for k in range(max(x, 0), n + 1))
        return total * u**first <= a * w ** (n + first)
    head = iv.exp(first * iv.log(real(p))) if first and p else iv.mpf(int(first == 0))
    return bool(head * tail(n, p, x) <= real(a))


def phi(x: Any) -> Any:
    """An interval around the normal distribution function at x > 0."""
    if not bool(x < 12):
        return 1 - iv.mpf([0, 1]) / 10**32
    term, total, k = x, x, 1
    while not (bool(2 * x * x <= k) and bool(term < iv.mpf(2) ** -200)):
        k += 2
        term = term * x * x / k
        total += term
    total += term * iv.mpf([0, 1])  # each further term is at most half of the one before
    return iv.mpf(0.5) + total * iv.exp(-x * x / 2) / iv.sqrt(2 * iv.pi)


# Types. A shape is a function; [shape] of lists, (shape, ...) of lists of that length;
# {"field": shape, "missing?": shape} or {"*": shape} of objects.


def read(value: Any, shape: Any) -> Any:
    if isinstance(shape, dict):
        need(isinstance(value, dict), "an object was expected")
        if "*" in shape:
            return {name: read(part, shape["*"]) for name, part in value.items()}
        known = {name.rstrip("?"): part for name, part in shape.items()}
        wrong = (set(value) - set(known)) | (set(shape) & set(known)) - set(value)
        need(not wrong, f"fields missing or unknown: {sorted(wrong)!a}")
        return {name: read(part, known[name]) for name, part in value.items()}
    if isinstance(shape, list | tuple):
        fits = isinstance(value, list) and (isinstance(shape, list) or len(shape) == len(value))
        need(fits, "a list (of another length) was expected")
        return [read(v, part) for v, part in zip(value, cycle(shape), strict=False)]
    return shape(value)


def parse(line: str) -> Any:
    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        need(len(dict(items)) == len(items), "a field is repeated")
        return dict(items)

    return json.loads(line, object_pairs_hook=pairs)


def number(value: Any) -> Fraction:
    need(type(value) in (int, float) and abs(value) <= sys.float_info.max, "no number")
    return Fraction(float(value))


def count(value: Any) -> int:
    need(type(value) is int and 0 <= value <= 2**53, "a count was expected")
    return int(value)


def text(value: Any) -> str:
    need(isinstance(value, str), "a text was expected")
    return str(value)


def one(*choices: Any) -> Callable[[Any], Any]:
    """One of some fixed values, or else of the last choice, if that is a function."""
    *fixed, last = choices

    def shape(value: Any) -> Any:
        if any(type(value) is type(choice) and value == choice for choice in fixed):
            return value
        return read(value, last)

    return shape


def never(value: Any) -> Any:
    raise Refused(f"not one of the values allowed: {value!a}")


def limit(value: Any) -> Any:
    return math.inf if value == "inf" else number(value)


def bound(value: Any) -> Any:
    kinds = [kind for kind in KINDS if isinstance(value, dict) and kind in value]
    b = read(value, BOUND | KINDS[kinds[0] if kinds else "looks"])
    looks = b.get("looks", [])
    need(b["event"] == "class" or b["side"] == "lower", "others has lower bounds only")
    check_looks(looks)
    b.setdefault("alpha", sum((a for _, a in looks), Fraction(0)))
    need(b["alpha"] >= 0, "an alpha is below 0")
    if "then" in b:
        fits = (b["event"], b["side"], len(looks)) == ("class", "lower", 1)
        need(fits and b["then"] > looks[0][0], "then does not fit its bound")
    return b


def proof(value: Any) -> Any:
    need(isinstance(value, dict) and len(value) == 1 and set(value) <= set(PROOFS), "no proof")
    kind, content = next(iter(value.items()))
    need(content != [], "any and all need a proof")
    return kind, read(content, PROOFS[kind])


def certificate(value: Any) -> Any:
    unproved = isinstance(value, dict) and "unproved" in value
    return read(value, {"unproved": text} if unproved else CERTIFICATE)


LOOKS = [(count, number)]
LAW = one(None, [(number, limit, number, number, number)])
ABOUT = {"*": lambda value: value}
KINDS = {"given": {"given": one(True, never)}, "alpha": {"alpha": number},
         "looks": {"looks": LOOKS, "then?": count}}  # fmt: skip
BOUND = {"stream": count, "event": one("class", "others", never), "side": one("lower", "upper", never)}
EVENT = {"bounds": [count], "steps": [{"shift": number, "multipliers": [number]}]}
PROOFS = {"gaussian": count, "sure": count, "majority": EVENT, "lead": (EVENT, EVENT),
          "any": [proof], "all": [proof]}  # fmt: skip
PLAN = {"plan": text, "about": ABOUT, "grid": one(None, number), "alpha": one(None, number),
        "noise": {"d": count, "sigma": number, "k": number, "eta": number},
        "family?": {"alpha": number, "size": count},
        "methods": {"*": [{"streams": [one("chosen", LAW)], "bounds": [bound]}]}}  # fmt: skip
CERTIFICATE = {"form": count, "class": count, "merged?": [count], "kept?": [count],
               "streams": [one(None, count)], "claims": [{"radius": limit, "proof": proof}],
               "bounds": [one(None, {"value": number, "look?": count, "looks?": LOOKS})]}  # fmt: skip
