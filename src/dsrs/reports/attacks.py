"""The gap between what is certified and what is attacked: two curves of accuracy against radius.

Below, the share of inputs certified for their label to at least r. Above, the share of the same
inputs for which no counterexample within r was proved: no certificate can reach above it. An input
that was not attacked, or withstood it, counts at every radius. Shares above are rounded up. Both
curves are in l2; an attack in another norm has no curve.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dsrs.measures import ceil_number, floor_number
from dsrs.reports.summary import RunSummary

SHOWN_DIGITS = 4


@dataclass(frozen=True, slots=True)
class AttackGap:
    """For radii in (radius[i-1], radius[i]] certified[i] below and attacked[i] above."""

    run: str
    radius: tuple[float, ...]
    certified: tuple[float, ...]
    attacked: tuple[float, ...]


def has_gap(run: RunSummary) -> bool:
    """Whether the run was attacked in l2, as its radii are, for the nearest counterexamples."""
    return any(attack.norm == "l2" and attack.eps is None for attack in run.attacks.values())


def attack_gap(run: RunSummary) -> AttackGap:
    """Both curves of a run that was attacked."""
    certified, attacked = [], []
    for outcome in run.outcomes:
        best = max((outcome.radius(method) for method in run.methods), default=0.0)
        if not outcome.for_label or not best > 0:
            continue
        attack = run.attacks.get(outcome.index)
        distance = None if attack is None else attack.attacked
        certified.append(floor_number(best, SHOWN_DIGITS))
        attacked.append(np.inf if distance is None else ceil_number(distance, SHOWN_DIGITS))
    ends = {0.0, *certified, *(float(end) for end in attacked if np.isfinite(end))}
    # A little further, so that the upper curve is seen to stay where nothing was proved.
    radii = np.array(sorted(ends | {round(1.02 * max(ends), SHOWN_DIGITS)}))
    below, above = (
        (np.array(column)[None, :] >= radii[:, None]).sum(axis=1).tolist()
        for column in (certified, attacked)
    )
    return AttackGap(
        run=run.name,
        radius=tuple(radii.tolist()),
        certified=tuple(floor_number(Fraction(count, run.size), SHOWN_DIGITS) for count in below),
        attacked=tuple(ceil_number(Fraction(count, run.size), SHOWN_DIGITS) for count in above),
    )


def attack_fields(run: RunSummary) -> dict[str, Any] | None:
    """The attack on a run in numbers; None where it was not attacked.

    Means are over the inputs with a proved counterexample, and None without any.
    """
    if not run.attacks:
        return None
    broken = [attack for attack in run.attacks.values() if attack.attacked is not None]
    ratios = [attack.ratio for attack in broken if attack.ratio is not None]
    distances = [attack.attacked for attack in broken if attack.attacked is not None]
    return {
        "norm": next(iter(run.attacks.values())).norm,
        "inputs": len(run.attacks),
        "proved": len(broken),
        "mean_distance": ceil_number(_mean(distances), SHOWN_DIGITS) if broken else None,
        "mean_ratio": floor_number(_mean(ratios), SHOWN_DIGITS) if broken else None,
        "refuted": sorted(attack.index for attack in broken if attack.refuted),
    }


def attack_text(run: RunSummary) -> str:
    """The same in one line for people."""
    known = attack_fields(run)
    if known is None:
        return "not attacked"
    measured = "" if known["norm"] == "l2" else f" ({known['norm']} norm)"
    text = (
        f"attacked{measured}: {known['proved']} of {known['inputs']} certified inputs have a "
        "proved counterexample"
    )
    if known["proved"]:
        far, ratio = known["mean_distance"], known["mean_ratio"]
        text += f", mean distance {far:.4f}, certified / attacked {ratio:.4f}"
    if known["refuted"]:
        text += f"; REFUTED certificates: inputs {', '.join(map(str, known['refuted']))}"
    return text


def _mean(values: Sequence[float]) -> Fraction:
    return sum(map(Fraction, values), Fraction()) / len(values)
