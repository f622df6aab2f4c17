"""The second checker on files made by hand: honest ones, and forgeries that must not be proved."""

from __future__ import annotations

import copy
import importlib.util
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mpmath import binomial, mp, mpf, ncdf, sqrt

SPEC = importlib.util.spec_from_file_location(
    "second_checker", Path(__file__).with_name("second_checker.py")
)
assert SPEC is not None
assert SPEC.loader is not None
second: Any = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(second)

mp.prec = 300
SIGMA, ALPHA, D = 0.5, 0.001, 784
Lines = list[dict[str, Any]]


def bisect(holds: Callable[[float], bool], low: float, high: float) -> float:
    """The largest double in [low, high) for which it holds; it holds at low, not at high."""
    while math.nextafter(low, high) < high:
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def tail(n: int, p: Any, x: int) -> Any:
    if 2 * x < n:
        return 1 - tail(n, 1 - p, n - x + 1)
    return sum(binomial(n, k) * p**k * (1 - p) ** (n - k) for k in range(x, n + 1))


def lower(n: int, x: int, a: float, v: Any = 0, first: int = 0) -> float:
    return bisect(lambda b: (b + v) ** first * tail(n, b + v, x) <= a, 0.0, 1.0 - float(v))


def radius(value: float, sigma: float = SIGMA, moved: float = 0.0) -> float:
    return bisect(lambda r: ncdf((mpf(r) + moved) / sigma) < value, 0.0, 9 * sigma)


def charge(d: int, sigma: float, h: float) -> Any:
    return 16 * mpf(2) ** -53 * (4 * d + 2 * sqrt(d) * sigma * sqrt(d - 0.5) / h)


LOWER = {"stream": 0, "event": "class", "side": "lower"}
N, HITS = 1000, 990
VALUE = lower(N, HITS, ALPHA)
RADIUS = radius(VALUE)


def honest() -> Lines:
    """Head, one plan, one input, one certificate."""
    return [
        {"format": "dsrs-proof-1", "about": {"run": "by hand", "number": 1}},
        {
            "plan": "P",
            "about": {},
            "noise": {"d": D, "sigma": SIGMA, "k": 0, "eta": 2},
            "grid": None,
            "alpha": ALPHA,
            "methods": {"np": [{"streams": [None], "bounds": [LOWER | {"looks": [[N, ALPHA]]}]}]},
        },
        {
            "plan": "P",
            "input": 7,
            "moved": 0,
            "streams": [{"law": None, "counts": [[4, HITS, 6]]}],
            "certificates": {
                "np": {
                    "form": 0,
                    "class": 1,
                    "streams": [0],
                    "bounds": [{"value": VALUE, "look": 0}],
                    "claims": [{"radius": RADIUS, "proof": {"gaussian": 0}}],
                }
            },
        },
    ]


def content(lines: Lines) -> bytes:
    return "\n".join(json.dumps(line) for line in lines).encode()


def words(lines: Lines | bytes) -> dict[str, str]:
    found = second.check(lines if isinstance(lines, bytes) else content(lines))
    return {name: word for name, word, _ in found}


def proved(lines: Lines | bytes) -> bool:
    try:
        return words(lines).get("input 7, np") == "proved"
    except second.Unreadable:
        return False


def certificate(lines: Lines) -> dict[str, Any]:
    found: dict[str, Any] = lines[2]["certificates"]["np"]
    return found


def form(lines: Lines) -> dict[str, Any]:
    found: dict[str, Any] = lines[1]["methods"]["np"][0]
    return found


def claim(lines: Lines, value: float, moved: float = 0.0) -> None:
    certificate(lines)["bounds"][0]["value"] = value
    certificate(lines)["claims"] = [
        {"radius": radius(value, moved=moved), "proof": {"gaussian": 0}}
    ]


# Honest files; each with the next double above, which must fail.


def tight(lines: Lines) -> None:
    assert proved(lines)
    value = certificate(lines)["bounds"][0]
    value["value"] = math.nextafter(value["value"], 2)
    assert not proved(lines)


def test_base() -> None:
    tight(honest())


def test_radius_is_tight() -> None:
    lines = honest()
    certificate(lines)["claims"][0]["radius"] = math.nextafter(RADIUS, 9)
    assert not proved(lines)


@pytest.mark.parametrize(("n", "x"), [(100, 100), (100, 96), (128, 120), (129, 121), (2000, 1990)])
def test_sizes(n: int, x: int) -> None:
    lines = honest()
    form(lines)["bounds"][0]["looks"] = [[n, ALPHA]]
    lines[2]["streams"][0]["counts"] = [[0, x, n - x]]
    claim(lines, lower(n, x, ALPHA))
    tight(lines)


def test_equality_holds() -> None:
    lines = honest()
    lines[1]["alpha"] = 0.125
    form(lines)["bounds"][0]["looks"] = [[3, 0.125]]
    lines[2]["streams"][0]["counts"] = [[0, 3]]
    certificate(lines)["bounds"][0]["value"] = 0.5
    certificate(lines)["claims"] = [
        {"radius": 5e-324, "proof": {"any": [{"gaussian": 0}, {"gaussian": 0}]}}
    ]
    assert not proved(lines)  # Phi(0) = 1/2 is not less; but the value itself is right:
    lines[1]["alpha"] = 0.25
    form(lines)["bounds"][0]["looks"] = [[2, 0.25]]
    form(lines)["streams"].append("chosen")
    form(lines)["bounds"].append(LOWER | {"stream": 1, "given": True})
    lines[2]["streams"] = [
        {"law": None, "counts": [[0, 2]]},
        {"law": [[0, "inf", 0, 0, 1]], "counts": []},
    ]
    cert = certificate(lines)
    cert["streams"], cert["bounds"] = [0, 1], [{"value": 0.5, "look": 0}, {"value": 1}]
    cert["claims"] = [{"radius": "inf", "proof": {"sure": 1}}]
    assert proved(lines)
    cert["bounds"][0]["value"] = math.nextafter(0.5, 1)
    assert not proved(lines)


def with_looks(lines: Lines) -> None:
    form(lines)["bounds"][0]["looks"] = [[100, ALPHA / 4], [N, ALPHA / 2]]
    lines[2]["streams"][0]["counts"] = [[0, 99, 1], [4, HITS, 6]]
    certificate(lines)["bounds"][0]["look"] = 1
    claim(lines, lower(N, HITS, ALPHA / 2))


def test_looks() -> None:
    lines = honest()
    with_looks(lines)
    tight(lines)


def with_chosen_looks(lines: Lines) -> None:
    form(lines)["bounds"][0] = LOWER | {"alpha": ALPHA}
    looks = [[100, 0], [N, ALPHA / 2]]
    certificate(lines)["bounds"][0] = {"value": 0, "look": 1, "looks": looks}
    claim(lines, lower(N, HITS, ALPHA / 2))


def test_chosen_looks() -> None:
    lines = honest()
    with_chosen_looks(lines)
    tight(lines)


def with_then(lines: Lines, later: int = 195) -> None:
    form(lines)["bounds"][0] |= {"looks": [[100, ALPHA]], "then": 300}
    lines[2]["streams"][0]["counts"] = [[0, 100, 0], [200 - later, 100 + later, 0]]
    claim(lines, lower(200, later, ALPHA, first=100))


@pytest.mark.parametrize("later", [200, 195, 170])
def test_then(later: int) -> None:
    lines = honest()
    with_then(lines, later)
    tight(lines)
    claim(lines, lower(100, 100, ALPHA))  # the smaller bound of the first look
    lines[2]["streams"][0]["counts"].pop()
    tight(lines)


def test_then_after_a_miss() -> None:
    lines = honest()
    with_then(lines)
    lines[2]["streams"][0]["counts"] = [[0, 99, 1], [0, 299, 1]]
    assert not proved(lines)
    claim(lines, lower(100, 99, ALPHA))
    tight(lines)


STEP, MOVED = 2.0**-20, 0.01
CHARGE = charge(D, SIGMA, STEP)


def with_grid(lines: Lines) -> None:
    lines[1]["grid"], lines[2]["moved"] = STEP, MOVED
    claim(lines, lower(N, HITS, ALPHA, CHARGE), MOVED)


def test_grid() -> None:
    assert 1e-7 < float(CHARGE) < 1e-5
    lines = honest()
    with_grid(lines)
    tight(lines)


def test_grid_of_rescaled_law_and_of_another() -> None:
    lines = honest()
    with_grid(lines)
    form(lines)["streams"].append("chosen")
    form(lines)["bounds"] = [LOWER | {"looks": [[N, ALPHA / 2]]}]
    form(lines)["bounds"].append(LOWER | {"stream": 1, "looks": [[N, ALPHA / 2]]})
    lines[2]["streams"].append({"law": [[0, "inf", 3, 0, 3]], "counts": [[0, 999, 1]]})
    claim(lines, lower(N, HITS, ALPHA / 2, CHARGE), MOVED)
    other = lower(N, 999, ALPHA / 2, charge(D, SIGMA / 2, STEP))
    cert = certificate(lines)
    cert["streams"] = [0, 1]
    cert["bounds"].append({"value": other, "look": 0})
    assert proved(lines)
    cert["bounds"][1]["value"] = math.nextafter(other, 1)
    assert not proved(lines)
    cert["bounds"][1]["value"] = other - 0.01
    lines[2]["streams"][1]["law"] = [[0, 12, 0, 0, 0]]
    assert words(lines) == {"input 7, np": "unknown"}
    cert["bounds"][1] = None
    assert proved(lines)


def with_family(lines: Lines, size: int = 1) -> None:
    lines[1]["family"] = {"size": size, "alpha": ALPHA * size}


def test_family() -> None:
    lines = honest()
    with_family(lines)
    assert proved(lines)


def with_merged(lines: Lines) -> None:
    lines[2]["streams"][0]["counts"] = [[4, 600, 390, 6]]
    certificate(lines)["merged"] = [2, 1]


def test_merged_and_kept() -> None:
    lines = honest()
    with_merged(lines)
    assert proved(lines)
    lines = honest()
    certificate(lines)["kept"] = [0, 1]
    assert proved(lines)


def with_others(lines: Lines) -> None:
    """A second bound, on the rivals, with its own half of alpha; 6 votes for the first rival."""
    form(lines)["bounds"] = [
        LOWER | {"looks": [[N, ALPHA / 2]]},
        LOWER | {"event": "others", "looks": [[N, ALPHA / 2]]},
    ]
    claim(lines, lower(N, HITS, ALPHA / 2))
    value = {"value": lower(N, 994, ALPHA / 2), "look": 0}
    certificate(lines)["bounds"].append(value)


def test_others() -> None:
    lines = honest()
    with_others(lines)
    assert proved(lines)
    value = certificate(lines)["bounds"][1]
    value["value"] = math.nextafter(value["value"], 1)
    assert not proved(lines)
    value["value"] = lower(N, 996, ALPHA / 2)  # without the rival that is kept
    assert not proved(lines)
    certificate(lines)["kept"] = [1, 2]
    assert proved(lines)


def test_upper() -> None:
    lines = honest()
    form(lines)["bounds"][0]["looks"] = [[N, ALPHA / 2]]
    form(lines)["bounds"].append(LOWER | {"side": "upper", "looks": [[N, ALPHA / 2]]})
    claim(lines, lower(N, HITS, ALPHA / 2))
    miss = 1 - lower(N, N - HITS, ALPHA / 2)  # exact: both are multiples of a small power of 2
    certificate(lines)["bounds"].append({"value": math.nextafter(miss, 1), "look": 0})
    assert proved(lines)
    certificate(lines)["bounds"][1]["value"] = math.nextafter(math.nextafter(miss, 0), 0)
    assert not proved(lines)
    certificate(lines)["bounds"][1]["value"] = 1
    assert proved(lines)


def test_given() -> None:
    lines = honest()
    lines[1]["alpha"] = None
    form(lines)["bounds"] = [LOWER | {"given": True}]
    certificate(lines)["bounds"] = [{"value": VALUE}]
    lines[2]["streams"][0]["counts"] = []
    found = second.check(content(lines))
    assert [word for _, word, _ in found] == ["proved"]
    assert "assumption" in found[0][2]
    certificate(lines)["bounds"] = [{"value": 1}]
    certificate(lines)["claims"] = [
        {"radius": 1e300, "proof": {"gaussian": 0}},
        {"radius": "inf", "proof": {"all": [{"sure": 0}, {"any": [{"gaussian": 0}, {"sure": 0}]}]}},
    ]
    assert proved(lines)
    certificate(lines)["claims"][1]["proof"] = {"gaussian": 0}
    assert not proved(lines)


EVENT = {"bounds": [0], "steps": [{"shift": 2, "multipliers": [0.5]}]}


def test_unknown() -> None:
    lines = honest()
    certificate(lines)["claims"][0]["proof"] = {"majority": EVENT}
    assert words(lines) == {"input 7, np": "unknown"}
    certificate(lines)["claims"][0]["proof"] = {"lead": [EVENT, EVENT]}
    assert words(lines) == {"input 7, np": "unknown"}
    certificate(lines)["claims"][0]["proof"] = {"any": [{"majority": EVENT}, {"gaussian": 0}]}
    assert proved(lines)
    certificate(lines)["claims"][0]["proof"] = {"all": [{"majority": EVENT}, {"gaussian": 0}]}
    assert words(lines) == {"input 7, np": "unknown"}
    certificate(lines)["claims"][0]["radius"] = 1.9
    assert words(lines) == {"input 7, np": "not proved"}


def test_text() -> None:
    parts = [json.dumps(line).encode() for line in honest()]
    assert proved(b"\r\n\r\n".join(parts))
    assert proved(content(honest()).replace(b'"k": 0', b'"k": 0.0').replace(b"null", b" null"))
    with pytest.raises(second.Unreadable, match="line 4"):
        words(content(honest()) + b"\n{")
    lost = {"unproved": "input 8, np", "reason": "no form"}
    assert words([*honest(), lost]) == {"input 7, np": "proved", "input 8, np": "not proved"}


def test_several() -> None:
    """Certificates of other inputs and methods do not disturb each other."""
    lines = honest()
    lines[1]["methods"]["more"] = lines[1]["methods"]["np"]
    lines.append(copy.deepcopy(lines[2]) | {"input": "8"})
    lines[2]["certificates"]["more"] = copy.deepcopy(certificate(lines)) | {"form": 1}
    with_family(lines, 3)
    assert list(words(lines).values()) == ["proved", "not proved", "proved"]
    with_family(lines, 2)
    with pytest.raises(second.Unreadable, match="family"):
        words(lines)


# Forgeries: each changes an honest file in one way.


def change(*path: Any, to: Any) -> Callable[[Lines], None]:
    def forge(lines: Lines) -> None:
        at: Any = lines
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = to

    return forge


def both(*parts: Callable[[Lines], None]) -> Callable[[Lines], None]:
    def forge(lines: Lines) -> None:
        for part in parts:
            part(lines)

    return forge


def drop(*path: Any) -> Callable[[Lines], None]:
    def forge(lines: Lines) -> None:
        at: Any = lines
        for key in path[:-1]:
            at = at[key]
        del at[path[-1]]

    return forge


def again(place: int, **fields: Any) -> Callable[[Lines], None]:
    return lambda lines: lines.append(copy.deepcopy(lines[place]) | fields)


CERT = (2, "certificates", "np")
FORM = (1, "methods", "np", 0)
VALUE0 = (*CERT, "bounds", 0)
CLAIM = (*CERT, "claims", 0)
COUNTS = (2, "streams", 0, "counts")
ONE = [LOWER | {"looks": [[N, ALPHA]]}]

FORGERIES: dict[str, Callable[[Lines], None]] = {
    # head and lines
    "other format": change(0, "format", to="dsrs-proof-2"),
    "head without about": drop(0, "about"),
    "unknown field in the head": change(0, "note", to="x"),
    "no head": drop(0),
    "unknown field in the plan": change(1, "note", to="x"),
    "unknown field in the noise": change(1, "noise", "note", to=1),
    "unknown field in the input": change(2, "note", to="x"),
    "unknown field in a stream": change(2, "streams", 0, "note", to=1),
    "unknown field in a certificate": change(*CERT, "note", to="x"),
    "unknown field in a value": change(*VALUE0, "note", to="x"),
    "unknown field in a claim": change(*CLAIM, "note", to="x"),
    "plan after the input": both(again(1), drop(1)),
    "plan without about": drop(1, "about"),
    "no plan of that name": change(2, "plan", to="Q"),
    "another kind of line": change(2, "attack", to=1),
    # types
    "a number as a text": change(1, "alpha", to="0.001"),
    "true as a number": change(2, "moved", to=True),
    "d with a point": change(1, "noise", "d", to=784.0),
    "a vote with a point": change(*COUNTS, to=[[4.0, HITS, 6]]),
    "true as a count": change(*CERT, "class", to=True),
    "too large a count": both(change(*COUNTS, to=[[4, HITS, 6], [4, HITS, 2**53 + 1]])),
    "too large a number": change(1, "noise", "sigma", to=10**400),
    "infinite sigma": change(1, "noise", "sigma", to=math.inf),
    "moved is NaN": change(2, "moved", to=math.nan),
    "a radius of NaN": change(*CLAIM, "radius", to=math.nan),
    "an input named by a list": change(2, "input", to=[7]),
    "a negative input": change(2, "input", to=-7),
    "a law named P": change(2, "streams", 0, "law", to="P"),
    "NaN in about": change(1, "about", to={"x": math.nan}),
    # noise and laws
    "one dimension": change(1, "noise", "d", to=1),
    "negative sigma": change(1, "noise", "sigma", to=-SIGMA),
    "no sigma": change(1, "noise", "sigma", to=0),
    "another eta": change(1, "noise", "eta", to=2.5),
    "another k": change(1, "noise", "k", to=1),
    "negative k": change(1, "noise", "k", to=-1),
    "larger sigma in the claim": change(*CLAIM, "radius", to=RADIUS * 2),
    "votes under another law": both(
        change(*FORM, "streams", 0, to="chosen"),
        change(2, "streams", 0, "law", to=[[0, "inf", 0, 0, -0.5]]),
    ),
    "not the law of the form": change(*FORM, "streams", 0, to=[[0, 12, 0, 0, 0]]),
    "a law without mass": change(*FORM, "streams", to=[None, []]),
    "a law of infinite mass": change(*FORM, "streams", to=[None, [[0, "inf", 0, 0, -1]]]),
    "infinite mass at 0": change(*FORM, "streams", to=[None, [[0, 1, 0, -392, 0]]]),
    "overlapping pieces": change(
        *FORM, "streams", to=[None, [[0, 2, 0, 0, 0], [1, "inf", 0, 0, 0]]]
    ),
    "an empty piece": change(*FORM, "streams", to=[None, [[1, 1, 0, 0, 0]]]),
    "two streams of one law": lambda lines: lines[2]["streams"].append(lines[2]["streams"][0]),
    # plan
    "alpha above one": both(
        change(1, "alpha", to=3), change(*FORM, "bounds", 0, "looks", to=[[N, 3]])
    ),
    "alpha missing": drop(1, "alpha"),
    "alpha null": change(1, "alpha", to=None),
    "a look spends more": change(*FORM, "bounds", 0, "looks", to=[[N, 2 * ALPHA]]),
    "two looks spend more": change(*FORM, "bounds", 0, "looks", to=[[1, 5e-324], [N, ALPHA]]),
    "a negative share": both(
        change(*FORM, "bounds", 0, "looks", to=[[N, 1], [2 * N, -1]]),
        change(*VALUE0, "value", to=0.999),
    ),
    "two bounds spend more": both(
        change(*FORM, "bounds", to=[*ONE, LOWER | {"side": "upper", "looks": [[N, ALPHA]]}]),
        change(*CERT, "bounds", to=[{"value": VALUE, "look": 0}, None]),
    ),
    "a bound twice": both(
        change(*FORM, "bounds", to=[LOWER | {"looks": [[N, ALPHA / 2]]}] * 2),
        change(*CERT, "bounds", to=[{"value": 0.9, "look": 0}, None]),
        change(*CLAIM, "radius", to=0.1),
    ),
    "another form spends more": lambda lines: lines[1]["methods"].update(
        {"x": [{"streams": [None], "bounds": [LOWER | {"alpha": 0.5}]}]}
    ),
    "votes of looks fall": change(*FORM, "bounds", 0, "looks", to=[[N, ALPHA], [10, 0]]),
    "votes of looks repeat": change(*FORM, "bounds", 0, "looks", to=[[N, ALPHA], [N, 0]]),
    "a look of no votes": change(*FORM, "bounds", 0, "looks", to=[[0, 0], [N, ALPHA]]),
    "a bound without a stream": change(*FORM, "bounds", 0, "stream", to=1),
    "given false": change(*FORM, "bounds", 0, to=LOWER | {"given": False}),
    "given and looks": change(*FORM, "bounds", 0, "given", to=True),
    "an upper bound of others": change(
        *FORM, "bounds", to=[*ONE, LOWER | {"event": "others", "side": "upper", "looks": []}]
    ),
    "then with two looks": change(
        *FORM, "bounds", 0, to=LOWER | {"looks": [[1, 0], [N, ALPHA]], "then": 2000}
    ),
    "then is no more votes": change(*FORM, "bounds", 0, "then", to=N),
    "then with chosen looks": both(with_chosen_looks, change(*FORM, "bounds", 0, "then", to=2000)),
    "then with one hit less": both(with_then, change(*COUNTS, 1, to=[6, 294, 0])),
    "then without the first votes": both(with_then, drop(*COUNTS, 0)),
    "two plans of one name": both(again(1), lambda lines: lines.insert(2, lines.pop())),
    "the grid is negative": both(change(1, "grid", to=-1e-9)),
    "the grid is 0": change(1, "grid", to=0),
    "family spends more": both(with_family, change(1, "family", "alpha", to=ALPHA / 2)),
    "family too large": both(with_family, again(2, input=8)),
    "family of none": change(1, "family", to={"size": 0, "alpha": 1}),
    "family without alpha": change(1, "family", to={"size": 1}),
    # inputs
    "moved is negative": both(with_grid, change(2, "moved", to=-MOVED)),
    "moved is not counted": both(with_grid, change(2, "moved", to=MOVED * 1.001)),
    "the charge is not counted": both(
        with_grid, lambda lines: claim(lines, lower(N, HITS, ALPHA), MOVED)
    ),
    "a fine grid charges everything": both(with_grid, change(1, "grid", to=1e-300)),
    "a class falls": change(*COUNTS, to=[[5, 90, 5], [4, HITS, 6]]),
    "rows repeat": change(*COUNTS, to=[[4, HITS, 6], [4, HITS, 6]]),
    "rows of other lengths": change(*COUNTS, to=[[4, 90], [4, HITS, 6]]),
    "a negative vote": change(*COUNTS, to=[[-1, HITS, 11]]),
    "fewer votes than the look": change(*COUNTS, to=[[3, HITS, 6]]),
    "more votes than the look": change(*COUNTS, to=[[4, HITS + 1, 6]]),
    "no votes": change(*COUNTS, to=[]),
    "one hit less": change(*COUNTS, to=[[4, HITS - 1, 7]]),
    "the same pair twice": again(2),
    "the same pair twice, as a text": again(2, input="7"),
    # certificates
    "another class": change(*CERT, "class", to=0),
    "a class without votes": change(*CERT, "class", to=3),
    "no such form": change(*CERT, "form", to=1),
    "a negative form": change(*CERT, "form", to=-1),
    "another method": change(1, "methods", to={"other": [{"streams": [], "bounds": []}]}),
    "no such stream": change(*CERT, "streams", 0, to=1),
    "null for the stream": change(*CERT, "streams", 0, to=None),
    "a stream too many": change(*CERT, "streams", to=[0, 0]),
    "a bound too many": change(*CERT, "bounds", to=[{"value": VALUE, "look": 0}, None]),
    "bound not taken": change(*CERT, "bounds", to=[None]),
    "no such bound": change(*CLAIM, "proof", to={"gaussian": 1}),
    "no such look": change(*VALUE0, "look", to=1),
    "a negative look": change(*VALUE0, "look", to=-1),
    "no look": drop(*VALUE0, "look"),
    "looks of its own": change(*VALUE0, "looks", to=[[N, ALPHA]]),
    "chosen looks missing": both(with_chosen_looks, drop(*VALUE0, "looks")),
    "chosen looks spend more": both(
        with_chosen_looks, change(*VALUE0, "looks", to=[[100, 5e-324], [N, ALPHA]])
    ),
    "chosen looks with a negative share": both(
        with_chosen_looks,
        change(*VALUE0, "looks", to=[[100, -0.5], [N, 0.5]]),
    ),
    "chosen looks fall": both(
        with_chosen_looks, change(*VALUE0, "looks", to=[[N, ALPHA / 2], [100, 0]])
    ),
    "the share of all looks": both(with_looks, lambda lines: claim(lines, VALUE)),
    "a value above one": change(*VALUE0, "value", to=2),
    "a value of one": change(*VALUE0, "value", to=1),
    "a negative value": change(*VALUE0, "value", to=-0.5),
    "a value from votes as given": drop(*VALUE0, "look"),
    "an honest claim of a false value": change(*VALUE0, "value", to=math.nextafter(VALUE, 1)),
    "no claims": change(*CERT, "claims", to=[]),
    "radius 0": change(*CLAIM, "radius", to=0),
    "a negative radius": change(*CLAIM, "radius", to=-1),
    "radius inf": change(*CLAIM, "radius", to="inf"),
    "radius Infinity": change(*CLAIM, "radius", to=math.inf),
    "a second claim that fails": lambda lines: certificate(lines)["claims"].append(
        {"radius": 2 * RADIUS, "proof": {"gaussian": 0}}
    ),
    "unproved and more": change(*CERT, "unproved", to=""),
    "unproved": change(*CERT[:-1], "np", to={"unproved": "?"}),
    "merged without the class": both(with_merged, change(*CERT, "merged", to=[2, 0])),
    "merged twice": both(change(*COUNTS, to=[[500, 495, 5]]), change(*CERT, "merged", to=[1, 1])),
    "merged and kept": both(with_merged, change(*CERT, "kept", to=[1, 2])),
    "merged with nothing": change(*CERT, "merged", to=[]),
    "kept without the class": change(*CERT, "kept", to=[0, 2]),
    "kept counts as merged": both(
        with_merged, drop(*CERT, "merged"), change(*CERT, "kept", to=[1, 2])
    ),
    "others as a class": both(with_others, change(*CLAIM, "proof", to={"gaussian": 1})),
    # proofs
    "no proof": change(*CLAIM, "proof", to={}),
    "two proofs": change(*CLAIM, "proof", to={"gaussian": 0, "sure": 0}),
    "another proof": change(*CLAIM, "proof", to={"trust": 0}),
    "any of nothing": change(*CLAIM, "proof", to={"any": []}),
    "all of nothing": change(*CLAIM, "proof", to={"all": []}),
    "all with a false one": change(*CLAIM, "proof", to={"all": [{"gaussian": 0}, {"sure": 0}]}),
    "any without a true one": change(*CLAIM, "proof", to={"any": [{"sure": 0}]}),
    "sure of a value below 1": change(*CLAIM, to={"radius": "inf", "proof": {"sure": 0}}),
    "sure of a law with a gap": both(
        change(*FORM, "bounds", 0, to=LOWER | {"given": True}),
        change(*FORM, "streams", 0, to=[[0, 1, 0, 0, 0], [2, "inf", 0, 0, 0]]),
        change(2, "streams", 0, "law", to=[[0, 1, 0, 0, 0], [2, "inf", 0, 0, 0]]),
        change(*VALUE0, to={"value": 1}),
        change(*CLAIM, to={"radius": "inf", "proof": {"sure": 0}}),
    ),
    "gaussian from an upper bound": both(
        change(*FORM, "bounds", 0, "side", to="upper"), change(*VALUE0, "value", to=1)
    ),
    "a majority at a smaller shift": change(
        *CLAIM, "proof", to={"majority": EVENT | {"steps": []}}
    ),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_forgery(name: str) -> None:
    lines = honest()
    FORGERIES[name](lines)
    assert not proved(lines)


RAW = {
    "a field twice": (b'"moved": 0', b'"moved": 0, "moved": 0'),
    "a field twice, escaped": (b'"class": 1', b'"class": 1, "cl\\u0061ss": 1'),
    "a method twice": (b'{"np": {', b'{"np": {"unproved": ""}, "np": {'),
    "too large an exponent": (b'"sigma": 0.5', b'"sigma": 1e400'),
    "sigma that is 0 as a double": (b'"sigma": 0.5', b'"sigma": 1e-400'),
    "a count with an exponent": (b'"d": 784', b'"d": 784e0'),
    "no JSON": (b'"moved": 0', b'"moved": 00'),
    "not UTF-8": (b"by hand", b"by \xff hand"),
    "deep nesting": (b'{"gaussian": 0}', b'{"any": [' * 20000 + b'{"gaussian": 0}' + b"]}" * 20000),
    "a byte order mark": (b'{"format"', b'\xef\xbb\xbf{"format"'),
    "one line": (b"\n", b" "),
    "a long whole number": (b'"moved": 0', b'"moved": ' + b"1" * 5000),
}


@pytest.mark.parametrize("name", RAW)
def test_raw_forgery(name: str) -> None:
    old, new = RAW[name]
    before = content(honest())
    assert old in before
    assert not proved(before.replace(old, new))


@pytest.mark.parametrize("bad", [b"", b"\n\n", b"[]", b"{}", b"null", b"\xff"])
def test_unreadable(bad: bytes) -> None:
    with pytest.raises(second.Unreadable):
        second.check(bad)


def test_other_lines() -> None:
    """Sets and attacks are read, not proved."""
    attack = {
        "plan": "P", "attack": 7, "method": "np", "class": 1, "distance": 1.5, "points": [1],
        "point": 0, "rival": 2, "counts": [0, 10, 990], "shows": "majority lost", "of": "majority",
    }  # fmt: skip
    assert words([*honest(), attack])["attack 7"] == "unknown"
    with pytest.raises(second.Unreadable, match="line 4"):
        words([*honest(), attack | {"of": "all"}])


def test_main(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "proof.jsonl"
    path.write_bytes(content(honest()))
    second.main(str(path))
    assert "'input 7, np', 'proved'" in capsys.readouterr().out
