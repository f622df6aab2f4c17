"""What stands above the numbers of a run: its settings, and what an attack on it came to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dsrs.measures import ceil_number, floor_number, percent
from dsrs.reports.summary import RunSummary

# ---- The gap between what is certified and what is attacked: two curves of accuracy against radius
#
# Below, the share of inputs certified for their label to at least r. Above, the share of the same
# inputs for which no counterexample within r was proved: no certificate can reach above it. An
# input that was not attacked, or withstood it, counts at every radius. Shares above are rounded up.
# Both curves are in l2; an attack in another norm has no curve.

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


# ---- What stands above every table of runs: their noise, votes, alpha and number of inputs

# What runs are compared by before their numbers are, in the order of a header.
SETTINGS: dict[str, Callable[[RunSummary], float | None]] = {
    "sigma": lambda run: run.law.sigma if run.law else None,
    "k": lambda run: run.law.k if run.law else None,
    "eta": lambda run: run.law.eta if run.law else None,
    "n": lambda run: plan_of(run).get("n"),
    "alpha": lambda run: plan_of(run).get("alpha"),
}
USUAL = {"k": 0.0, "eta": 2.0}  # the Gaussian, which is not worth a word


def plan_of(run: RunSummary) -> Mapping[str, Any]:
    """The plan of a run in JSON; empty for a table."""
    plan: Mapping[str, Any] = run.settings.get("plan", {})
    return plan


def settings_text(run: RunSummary) -> str:
    """`sigma = 0.5, n = 1,000, alpha = 0.001, 100 inputs`, as far as it is known."""
    inputs = f"{run.size:,} input{'s' * (run.size != 1)}"
    values = {name: value_of(run) for name, value_of in SETTINGS.items()}
    parts = [
        f"{name} = {_shown(name, value)}"
        for name, value in values.items()
        if value is not None and value != USUAL.get(name)
    ]
    return ", ".join([*parts, inputs])


def header_lines(runs: Sequence[RunSummary]) -> list[str]:
    """The settings of each run, in a line that begins with its name."""
    return [f"{run.name}: {settings_text(run)}" for run in runs]


def legend_names(runs: Sequence[RunSummary]) -> dict[str, str]:
    """What a legend calls each run: its name, with sigma where the runs differ in it."""
    own = {run.name: run.law.sigma if run.law else None for run in runs}
    if None in own.values() or len(set(own.values())) == 1:
        return {run.name: run.name for run in runs}
    return {run.name: _legend_name(run) for run in runs}


def _legend_name(run: RunSummary) -> str:
    if run.law is None:
        return run.name
    return f"{run.name} (\N{GREEK SMALL LETTER SIGMA} = {run.law.sigma:g})"


def in_scaled_units(runs: Sequence[RunSummary]) -> bool:
    """Whether radii are in units of each feature (`--scale`)."""
    return any(run.settings.get("model", {}).get("scaling") for run in runs)


def radius_label(runs: Sequence[RunSummary]) -> str:
    """`l_2 radius r`: the title of an axis of radii on the page, in the units of the inputs."""
    return "l_2 radius r" + (" (scaled units)" if in_scaled_units(runs) else "")


def run_notes(runs: Sequence[RunSummary]) -> list[tuple[str, str]]:
    """Name and sentence: accuracy without noise, model queries, and the attack, where known."""
    notes = []
    for run in runs:
        if (share := run.undefended_accuracy) is not None:
            right = f"the model without noise is right on {percent(share)}%, without any guarantee"
            notes.append((run.name, right))
        if run.spent:
            notes.append((run.name, run.spent.text()))
        if run.attacks:
            notes.append((run.name, attack_text(run)))
    return notes


def different_settings(runs: Sequence[RunSummary]) -> list[str]:
    """`n (1,000 and 2,000)` for each setting in which the runs differ, where all of them have it.

    A setting that some runs do not tell is left out: it may be the same.
    """
    names = []
    for name, value_of in SETTINGS.items():
        values = [value_of(run) for run in runs]
        known = [value for value in values if value is not None]
        if len(known) == len(values) and len(set(known)) > 1:
            texts = [_shown(name, value) for value in dict.fromkeys(known)]
            names.append(f"{name} ({' and '.join(texts)})")
    return names


def _shown(name: str, value: float) -> str:
    return f"{value:,}" if name == "n" else f"{value:.6g}"
