"""Clopper-Pearson bounds of a probability from votes, never on the wrong side of the exact ones.

The lower bound of `successes` in `trials` is the p with Pr[Bin(n, p) >= successes] = alpha.
Library quantiles of the Beta law miss it by about 1e-13 to either side (docs/math.md 11): such a
quantile is only the first guess: Newton steps on the tail follow, then the bound moves outward
until the tail, with its proved error bound, is on the safe side of alpha.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from dsrs.confidence import binomial_tail
from dsrs.confidence.binomial_tail import EPSILON, log_upper_tail
from dsrs.errors import InvalidInput
from dsrs.kernels import jitted_together, kernel_folder

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
    tail = (binomial_tail._stirling, binomial_tail._deviance, log_upper_tail)
    folder = kernel_folder(Path(binomial_tail.__file__), Path(__file__))
    return jitted_together((*tail, _solve, _solve_rows), {_solve_rows}, folder)[_solve_rows]


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
