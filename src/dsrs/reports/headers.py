"""What stands above every table of runs: their noise, votes, alpha and number of inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dsrs.measures import percent
from dsrs.reports.attacks import attack_text
from dsrs.reports.summary import RunSummary

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
