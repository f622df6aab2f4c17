"""Clopper-Pearson bounds of a probability from votes, and the failure probability that they spend.

The lower bound of `successes` in `trials` is the p with Pr[Bin(n, p) >= successes] = alpha. It is
never on the wrong side of the exact one. Library quantiles of the Beta law miss it by about 1e-13
to either side (docs/math.md 11): such a quantile is only the first guess. Newton steps on the tail
follow, then the bound moves outward until the tail, with its proved error bound, is on the safe
side of alpha.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from dsrs.errors import AlphaOverspent, InvalidInput
from dsrs.kernels import jitted_together, kernel_folder

# ---- The union bound as a ledger

# A share such as alpha / 7 may round up; an excess up to this part of alpha counts as rounding.
_ROUNDING = Fraction(1, 2**48)


class Share(NamedTuple):
    """One bound's part of alpha."""

    purpose: str
    alpha: float


@dataclass
class AlphaBudget:
    """A total failure probability `alpha`, spent in shares.

    By the union bound all statements that were paid from one budget hold together except with
    probability at most `alpha`. The sums are exact (fractions of the floats), so the granted
    shares never add up to more than alpha, not even by a rounding error.
    """

    alpha: float
    shares: list[Share] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 1:
            raise InvalidInput(f"`alpha` must be in (0, 1), got {self.alpha!r}")

    def spend(self, share: float, purpose: str) -> float:
        """Take `share` for `purpose`; use the returned number as that bound's alpha.

        The number returned is `share`, or a hair less when only rounding makes the last share
        exceed what is left (seven times alpha / 7, say). A real excess raises `AlphaOverspent`.
        """
        if not (math.isfinite(share) and share > 0):
            raise InvalidInput(f"`share` of {purpose!r} must be a positive number, got {share!r}")
        left = self._left()
        granted = share
        if Fraction(share) > left:
            if Fraction(share) - left > _ROUNDING * Fraction(self.alpha) or not _floor(left):
                raise AlphaOverspent(
                    f"{purpose!r} asks for {share!r}, but only {float(left):.6g} of "
                    f"alpha = {self.alpha!r} is left; already spent:\n{self.describe()}"
                )
            granted = _floor(left)
        self.shares.append(Share(purpose, granted))
        return granted

    @property
    def remaining(self) -> float:
        """What can still be spent, rounded down."""
        return _floor(self._left())

    def describe(self) -> str:
        """Return the ledger as text, one line per share."""
        lines = [f"  {share.alpha:<12.6g} {share.purpose}" for share in self.shares]
        return "\n".join([*lines, f"  {self.remaining:<12.6g} not spent"])

    def _left(self) -> Fraction:
        return Fraction(self.alpha) - sum((Fraction(s.alpha) for s in self.shares), Fraction())


def _floor(value: Fraction) -> float:
    nearest = float(value)
    return math.nextafter(nearest, -math.inf) if Fraction(nearest) > value else nearest


# ---- The upper binomial tail with a proved error bound
#
# For X ~ Bin(n, p), a hits and b = n - a misses, the tail is
#
#     Pr[X >= a] = pmf(a) * S,    S = 1 + r_1 + r_1 r_2 + ...,    r_j = (b - j + 1) p / ((a + j) q).
#
# Every term of S is positive, so nothing cancels, and ln pmf comes in Loader's saddle-point form
#     stirling(n) - stirling(a) - stirling(b) - D(a, np) - D(b, nq) + ln(n / (2 pi a b)) / 2,
# with stirling(x) the error of Stirling's formula for ln x! and D(x, M) = x ln(x/M) + M - x.

EPSILON = 2.0**-52
_TABLE_SIZE = 16


def _stirling_table() -> NDArray[np.float64]:
    """stirling(x) = ln x! - (x + 1/2) ln x + x - ln(2 pi)/2 for small x, correctly rounded."""
    with localcontext() as context:
        context.prec = 40
        half_log_two_pi = Decimal("0.91893853320467274178032973640561763986")
        errors = [
            Decimal(math.factorial(x)).ln()
            - (Decimal(x) + Decimal("0.5")) * Decimal(x).ln()
            + x
            - half_log_two_pi
            for x in range(1, _TABLE_SIZE)
        ]
    return np.array([0.0, *map(float, errors)])


_STIRLING = _stirling_table()


def _stirling(x: float) -> float:
    if x < _TABLE_SIZE:
        return float(_STIRLING[int(x)])
    # The first term left out, 1/(156 x^13), is below 2e-18 from x = 16 on.
    y = 1.0 / (x * x)
    series = 1 / 1680 - y * (1 / 1188 - y * (691 / 360360))
    return (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y * series))) / x


def _deviance(x: float, mean: float, excess: float) -> float:
    """D(x, mean) = x ln(x / mean) + mean - x with excess = x - mean handed over uncancelled."""
    v = excess / (x + mean)
    if abs(v) > 0.1:
        return x * math.log(x / mean) - excess
    # 2 x atanh(v) without its first term; v^18 is below the rounding.
    y = v * v
    series = 0.0
    for j in range(19, 1, -2):
        series = y * (1 / j + series)
    return excess * v + 2 * x * v * series


def log_upper_tail(hits: float, misses: float, p: float, q: float) -> tuple[float, float, float]:
    """ln Pr[Bin(hits + misses, p) >= hits], the sum S, and a bound of the logarithm's error.

    Needs hits >= 1, counts up to 2^53, and p + q = 1 with the smaller of the two exact and the
    other rounded. The error bound, with u = EPSILON / 2 the unit roundoff and e = hits - n p:
    - each D carries at most 32 u |e| + 4 u D: rounding M moves it by dD/dM = -e/M in the series,
      and a logarithm is taken only where x <= 6 |e| and M <= 10 |e|;
    - the factors r_j carry 6 u each, so S carries 6 u times the mean index of its terms, which is
      at most S because r_j decreases; adding `count` terms costs u each, the cut-off part u;
    - the remaining terms are below 20 in size and stand behind the constant.
    """
    n = hits + misses
    if misses == 0:
        log_tail = hits * (math.log1p(-q) if p > 0.5 else math.log(p))
        return log_tail, 1.0, EPSILON * (4 - 4 * log_tail)
    mean = n * p
    excess = hits - mean if p <= 0.5 else n * q - misses
    deviance = _deviance(hits, mean, excess) + _deviance(misses, n * q, -excess)
    log_pmf = (
        _stirling(n)
        - _stirling(hits)
        - _stirling(misses)
        - deviance
        + 0.5 * (math.log(n / hits) - math.log(2 * math.pi * misses))
    )
    odds = p / q
    total, term, count = 1.0, 1.0, 0.0
    while count < misses:
        ratio = odds * ((misses - count) / (hits + count + 1))
        term *= ratio
        total += term
        count += 1
        if ratio < 1 and term * ratio < 0.25 * EPSILON * total * (1 - ratio):
            break
    error = EPSILON * (64 + count + 4 * total + 32 * abs(excess) + 4 * deviance)
    return log_pmf + math.log(total), total, error


# ---- Bounds from the tail

Floats = NDArray[np.float64]

# Counts above are no longer exact in double precision.
MOST_TRIALS = 2**53

# Terms of tails, of which some millions a second are added interpreted. Compiling takes seconds.
TERMS_WORTH_COMPILING = 1e7
_terms = 0.0  # added so far, roughly


class ConfidenceInterval(NamedTuple):
    """The probability lies in [lower, upper] except with probability alpha."""

    lower: Any
    upper: Any


@overload
def clopper_pearson_lower(successes: int, trials: int, alpha: float) -> float: ...
@overload
def clopper_pearson_lower(successes: ArrayLike, trials: ArrayLike, alpha: ArrayLike) -> Any: ...
def clopper_pearson_lower(successes: ArrayLike, trials: ArrayLike, alpha: ArrayLike) -> Any:
    """The one-sided lower bound: above the true probability with probability at most alpha.

    Counts and alpha broadcast; numbers give a float, arrays an array. 0 when no success was seen.
    """
    hits, misses, level = _validated(successes, trials, alpha)
    small, small_is_p = _lower_bound(hits, misses, level)
    return _shaped(np.where(small_is_p, small, np.nextafter(1 - small, 0.0)))


@overload
def clopper_pearson_upper(successes: int, trials: int, alpha: float) -> float: ...
@overload
def clopper_pearson_upper(successes: ArrayLike, trials: ArrayLike, alpha: ArrayLike) -> Any: ...
def clopper_pearson_upper(successes: ArrayLike, trials: ArrayLike, alpha: ArrayLike) -> Any:
    """The one-sided upper bound: below the true probability with probability at most alpha.

    It is one minus the lower bound of the misses, computed without that subtraction where the
    subtraction would cost digits. 1 when no miss was seen.
    """
    hits, misses, level = _validated(successes, trials, alpha)
    small, small_is_p = _lower_bound(misses, hits, level)
    upper = np.where(small_is_p, np.nextafter(1 - small, 1.0), small)
    return _shaped(np.minimum(upper, 1.0))


def clopper_pearson(
    successes: ArrayLike, trials: ArrayLike, alpha: ArrayLike
) -> ConfidenceInterval:
    """The two-sided interval: each side takes alpha / 2. [0, 1] without trials."""
    level = _validated(successes, trials, alpha)[2]
    half = level / 2  # exact, but for subnormal numbers
    _refuse("alpha", "at least 1e-307 for a two-sided interval", level, half < 5e-308)
    return ConfidenceInterval(
        clopper_pearson_lower(successes, trials, half),
        clopper_pearson_upper(successes, trials, half),
    )


def _lower_bound(hits: Floats, misses: Floats, alpha: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Lower bounds p, each given by the smaller of p and 1 - p so that no digits are lost.

    Returns that smaller number and whether it is p; p is rounded down, 1 - p is rounded up.
    """
    hits, misses, alpha = np.broadcast_arrays(hits, misses, alpha)
    small = np.zeros(hits.shape)
    small_is_p = np.ones(hits.shape, dtype=np.bool_)
    seen = hits > 0
    a, b, level = hits[seen], misses[seen], alpha[seen]
    guess = _finite_or(special.betaincinv(a, b + 1, level), a / (a + b) * level ** (1 / a))
    large = guess > 0.5
    guess[large] = _finite_or(
        special.betainccinv(b[large] + 1, a[large], level[large]), 1 - guess[large]
    )
    small[seen] = _solver(a, b)(a, b, level, guess, ~large)
    small_is_p[seen] = ~large
    return small, small_is_p


def _finite_or(guess: NDArray[Any], rough: Floats) -> Floats:
    # SciPy's quantiles answer NaN in some corners (3 of 1e9 at alpha = 1e-300, say).
    return np.where(np.isfinite(guess), guess, rough)


def _solver(hits: Floats, misses: Floats) -> Callable[..., Floats]:
    """Return `_solve_rows`, compiled if there was or is much to compute."""
    global _terms
    # A tail has terms over some eight standard deviations, and is added up some ten times.
    _terms += float(np.sum(10 + 80 * np.sqrt(np.minimum(hits, misses))))
    return _solve_rows if _terms < TERMS_WORTH_COMPILING else _compiled_solver()


@functools.cache
def _compiled_solver() -> Callable[..., Floats]:
    functions = (_stirling, _deviance, log_upper_tail, _solve, _solve_rows)
    return jitted_together(functions, {_solve_rows}, kernel_folder(Path(__file__)))[_solve_rows]


def _solve_rows(
    hits: Floats, misses: Floats, alpha: Floats, guess: Floats, small_is_p: NDArray[np.bool_]
) -> Floats:
    small = np.empty(hits.size)
    for i in range(hits.size):
        a, b, level = float(hits[i]), float(misses[i]), float(alpha[i])
        first, is_p = float(guess[i]), bool(small_is_p[i])
        if level <= 0.5:
            small[i] = _solve(a, b, math.log(level), True, first, is_p)
        else:
            # Pr[X >= hits] <= alpha says Pr[n - X >= misses + 1] >= 1 - alpha. The smaller of the
            # two tails keeps its digits; 1 - alpha is exact here.
            small[i] = _solve(b + 1, a - 1, math.log(1 - level), False, first, not is_p)
    return small


def _solve(
    hits: float, misses: float, log_target: float, at_most: bool, guess: float, small_is_p: bool
) -> float:
    """Return the p with ln Pr[Bin(n, p) >= hits] at most (or at least) the target, and next to it.

    Works on s = p or s = 1 - p, whichever is small, in ln s: the derivative of the logarithm of
    the tail is hits / S in ln p, and -hits (q/p) / S in ln q. Both fall in ln s because S grows
    with p: the curve is concave, so Newton's method converges from any start.
    """
    s = min(max(guess, 5e-324), 0.75)
    slope, error = 1.0, 0.0
    for _ in range(100):
        p, q = (s, 1 - s) if small_is_p else (1 - s, s)
        log_tail, total, error = log_upper_tail(hits, misses, p, q)
        error -= 2 * EPSILON * log_target
        slope = hits / total if small_is_p else -hits * (q / p) / total
        gap = log_target - log_tail
        s = min(max(s * math.exp(min(gap / slope, 700.0)), 5e-324), 0.5 + 0.5 * s)
        if gap * gap <= error:  # the step just taken squares the gap
            break
    # Outward in p is down for `at_most`; in 1 - p it is the other way round.
    downward = at_most == small_is_p
    shift = 1.25 * error / abs(slope)
    while shift < 1:
        outward = math.nextafter(
            s * (1 - shift if downward else 1 + shift), -1.0 if downward else 2.0
        )
        if outward <= 0 or outward >= 1:
            break
        p, q = (outward, 1 - outward) if small_is_p else (1 - outward, outward)
        log_tail, total, error = log_upper_tail(hits, misses, p, q)
        error -= 2 * EPSILON * log_target
        if (log_tail + error <= log_target) if at_most else (log_tail - error >= log_target):
            return outward
        shift = 2 * shift
    # The trivial bound is safe.
    return 0.0 if downward else 1.0


def _validated(
    successes: ArrayLike, trials: ArrayLike, alpha: ArrayLike
) -> tuple[Floats, Floats, Floats]:
    """Hits, misses and alpha as arrays, or an error that names the field and the value."""
    hits = _counts("successes", successes)
    n = _counts("trials", trials)
    level = np.asarray(alpha, dtype=np.float64)
    _refuse("alpha", "in (0, 1)", level, ~((level > 0) & (level < 1)))
    try:
        np.broadcast_shapes(hits.shape, n.shape, level.shape)
    except ValueError:
        raise InvalidInput(
            "`successes`, `trials` and `alpha` must have shapes that broadcast, "
            f"got {hits.shape}, {n.shape} and {level.shape}"
        ) from None
    more, of = np.broadcast_arrays(hits, n)
    if np.any(more > of):
        at = np.unravel_index(int(np.argmax(more > of)), more.shape)
        raise InvalidInput(
            f"`successes` must not exceed `trials`, got {more[at]:.0f} of {of[at]:.0f}" + _place(at)
        )
    return hits, n - hits, level


def _counts(name: str, values: ArrayLike) -> Floats:
    counts = np.asarray(values, dtype=np.float64)
    bad = ~((counts >= 0) & (counts <= MOST_TRIALS) & (counts == np.floor(counts)))
    _refuse(name, "a whole number from 0 to 2^53", counts, bad)
    return counts


def _refuse(name: str, expected: str, values: Floats, bad: NDArray[np.bool_]) -> None:
    if np.any(bad):
        at = np.unravel_index(int(np.argmax(bad)), bad.shape)
        raise InvalidInput(f"`{name}` must be {expected}, got {float(values[at])!r}" + _place(at))


def _place(at: tuple[Any, ...]) -> str:
    return f" at position {', '.join(str(int(i)) for i in at)}" if at else ""


def _shaped(values: Floats) -> Any:
    return values if values.ndim else float(values)
