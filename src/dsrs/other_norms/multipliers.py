"""The dual bound of the error probability as a sample mean, and its best multipliers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import optimize

from dsrs.errors import InvalidInput
from dsrs.laws import AdditionalLaw
from dsrs.other_norms.law import Floats, NormLaw
from dsrs.other_norms.worst_shift import ShellSample

# Exponents are cut here: a ratio of e^600 settles a comparison with 1 as well as infinity does,
# and the product with a multiplier below e^60 stays finite.
_LARGEST_LOG_RATIO = 600.0
_LOG_MULTIPLIERS = (-40.0, 60.0)


def check_nonincreasing(law: NormLaw, additional: Sequence[AdditionalLaw]) -> None:
    """Refuse additional laws without what the worst shift needs: a density that never rises."""
    for other in additional:
        if other.base != law.radial:
            raise InvalidInput(
                f"an additional law must be built on `law.radial` = {law.radial}, got {other.base}"
            )
        if not other.falls:
            raise InvalidInput(
                "the density of an additional law must not increase with the norm, "
                f"that of `{other.describe()}` does; take a truncated or rescaled law"
            )


def density_ratios(sample: ShellSample, radius: float, laws: Sequence[AdditionalLaw]) -> Floats:
    """For each draw x: p(x + delta) / p(x), then q_i(x + delta) / p(x); one column a law."""
    shells, log_ratio = sample.shifted(radius)
    columns = [log_ratio, *(log_ratio + law.log_weight(shells) for law in laws)]
    return np.asarray(np.exp(np.minimum(np.stack(columns, axis=1), _LARGEST_LOG_RATIO)))


def excess(ratios: Floats, multipliers: Floats) -> Floats:
    """(1 - sum_i l_i q_i(x + delta) / p(x))_+ for each draw; its mean under P is V(delta).

    Substitute x -> x + delta in V: an expectation under P of a number in [0, 1], whatever the
    multipliers. That is why few draws are enough.
    """
    return np.maximum(1 - ratios @ multipliers, 0.0)


def best_multipliers(ratios: Floats, errors: Floats, start: Floats) -> Floats:
    """Multipliers l >= 0 that nearly minimise sum_i l_i errors_i + mean excess on these draws.

    `errors` are the upper bounds 1 - P-, 1 - Q-. The objective is convex in l; the search runs in
    ln l, as optima span many orders of magnitude. It may fail: the test does not trust it.
    """

    def objective(logs: Floats) -> tuple[float, Floats]:
        multipliers = np.exp(logs)
        gap = 1 - ratios @ multipliers
        active = gap > 0
        slope = errors - (active.astype(np.float64) @ ratios_inside) / len(ratios)
        value = errors @ multipliers + np.maximum(gap, 0.0).mean()
        return float(value), np.asarray(multipliers * slope)

    # A draw that is active has a ratio below e^40, so the cut keeps the sum and avoids overflow.
    ratios_inside = np.minimum(ratios, np.exp(-_LOG_MULTIPLIERS[0]))
    found = optimize.minimize(
        objective,
        np.clip(np.log(np.maximum(start, 1e-300)), *_LOG_MULTIPLIERS),
        jac=True,
        method="L-BFGS-B",
        bounds=[_LOG_MULTIPLIERS] * len(errors),
    )
    return np.asarray(np.exp(found.x))
