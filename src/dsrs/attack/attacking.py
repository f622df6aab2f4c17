"""Attack the certified inputs of a run, keep what is found in the run itself, and sum it up."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dsrs.attack.pursuit import check_budget, pursue
from dsrs.attack.readings import Aim
from dsrs.attack.walk import Room
from dsrs.certifying import Counter, Watch, checked_input, keep_all, setting_of, unseen
from dsrs.classifiers import Classifier
from dsrs.datasets import Dataset
from dsrs.errors import InvalidInput, StoreMismatch
from dsrs.kernels import thread_count
from dsrs.laws import Norm, check_norm
from dsrs.measures import proves
from dsrs.methods import NEYMAN_PEARSON, Plan
from dsrs.noise import check_seed
from dsrs.proofs import AttackedInput, Certificate
from dsrs.store import (
    AttackWriter,
    Run,
    RunResult,
    attacked_inputs,
    copy_run,
    open_run,
    start_attack,
    thumbnail,
)

# ---- What an attack says of a whole run: means, and certificates that are refuted


@dataclass(frozen=True, slots=True)
class EpsRates:
    """How many inputs keep their answer against every perturbation up to `eps`.

    Of all `inputs`, attacked or not, `right` are predicted as labelled, without perturbation (the
    class with most votes: an estimate). Of those that are certified for their label the answer is
    proved `robust` within `eps`, proved `changed`, or `undecided`. `wrong` are certified for a
    class that is not their label. Nothing is known of the others, which have no certificate.
    """

    eps: float
    inputs: int
    right: int
    robust: int
    changed: int
    undecided: int
    wrong: int

    @property
    def uncertified(self) -> int:
        """Count the inputs without a certificate."""
        return self.inputs - self.robust - self.changed - self.undecided - self.wrong

    def to_dict(self) -> dict[str, Any]:
        """For JSON: the counts, and the rates that bound the robust accuracy."""
        known = max(self.inputs, 1)
        return asdict(self) | {
            "uncertified": self.uncertified,
            "accuracy": self.right / known,
            "robust_accuracy_at_least": self.robust / known,
            "robust_accuracy_at_most": 1 - (self.changed + self.wrong) / known,
        }


@dataclass(frozen=True, slots=True)
class AttackSummary:
    """All attacked inputs of a run.

    The means of `attacked` and `ratio` are over the inputs with a proved counterexample; that of
    `certified` is given for these too, so that the two distances compare. None without any.
    """

    inputs: tuple[AttackedInput, ...]
    clip: bool
    certified: float | None
    certified_where_attacked: float | None
    attacked: float | None
    ratio: float | None
    norm: Norm = "l2"
    rates: EpsRates | None = None  # where a distance was given

    @property
    def proved(self) -> int:
        """Count the inputs with a proved counterexample."""
        return sum(one.attacked is not None for one in self.inputs)

    @property
    def refuted(self) -> tuple[AttackedInput, ...]:
        """The inputs whose certificate is proved wrong."""
        return tuple(one for one in self.inputs if one.refuted)

    @property
    def votes(self) -> int:
        return sum(one.votes for one in self.inputs)

    def to_dict(self) -> dict[str, Any]:
        """For JSON: every input in short, and the means."""
        return {
            "inputs": [input_fields(one) for one in self.inputs],
            "means": {
                "certified": self.certified,
                "certified_where_attacked": self.certified_where_attacked,
                "attacked": self.attacked,
                "ratio": self.ratio,
            },
            "proved": self.proved,
            "refuted": [one.index for one in self.refuted],
            "votes": self.votes,
            "within": "bounds" if self.clip else "R^d",
            "norm": self.norm,
            "eps": None if self.rates is None else self.rates.to_dict(),
        }


def input_fields(one: AttackedInput) -> dict[str, Any]:
    """Return the fields of one input for the summary."""
    found = one.counterexample
    return {
        "index": one.index,
        "certified": one.certified,
        "attacked": one.attacked,
        "ratio": one.ratio,
        "estimate": one.estimate,
        "claim": one.claim,
        "shown": None if found is None else found.shown,
        "source": None if found is None else found.source,
        "target": one.target,
        "rival": None if found is None else found.rival,
        "refuted": one.refuted,
        "method": one.method,
        "votes": one.votes,
        "verdict": one.verdict,
    }


def summarised(
    inputs: Sequence[AttackedInput],
    clip: bool,
    norm: Norm = "l2",
    rates: EpsRates | None = None,
) -> AttackSummary:
    """The summary of these inputs."""
    broken = [one for one in inputs if one.attacked is not None]
    return AttackSummary(
        inputs=tuple(inputs),
        clip=clip,
        certified=_mean([one.certified for one in inputs]),
        certified_where_attacked=_mean([one.certified for one in broken]),
        attacked=_mean([one.attacked for one in broken if one.attacked is not None]),
        ratio=_mean([one.ratio for one in broken if one.ratio is not None]),
        norm=norm,
        rates=rates,
    )


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


# ---- The attack

MOST_BUDGET = 2**31
MOST_EPS = 1e30  # points at this distance are finite in float32


@dataclass(frozen=True, slots=True)
class AttackSettings:
    """What the results of an attack depend on, besides the run.

    Attributes:
        budget: votes for each input at most, those of the proof included.
        alpha: failure probability of all that is proved of one input.
        seed: same seed, same attack.
        clip: perturbed inputs stay within the classifier's bounds; a certificate covers all of R^d.
        method: whose certificates are attacked; None: the largest of each input.
        norm: what distances are measured in; None: the norm of the certificate.
        eps: ask only whether the claim ends within this distance; None: look for the nearest end.
    """

    budget: int = 50_000
    alpha: float = 0.001
    seed: int = 0
    clip: bool = False
    method: str | None = None
    norm: Norm | None = None
    eps: float | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.budget <= MOST_BUDGET:
            raise InvalidInput(f"`budget` must be from 1 to {MOST_BUDGET} votes, got {self.budget}")
        if not 0 < self.alpha < 1:
            raise InvalidInput(f"`alpha` must be in (0, 1), got {self.alpha!r}")
        check_seed(self.seed)
        if self.norm is not None:
            check_norm(self.norm)
        if self.eps is not None and not 0 < self.eps <= MOST_EPS:
            raise InvalidInput(f"`eps` must be a distance up to {MOST_EPS:g}, got {self.eps!r}")

    def to_dict(self) -> dict[str, Any]:
        """Return the settings for JSON, without loss; without norm and eps where none is given."""
        fields = asdict(self)
        if self.norm is None:
            del fields["norm"]
        if self.eps is None:
            del fields["eps"]
        return fields


def attack_input(
    classifier: Classifier,
    x: ArrayLike,
    target: int,
    certificate: Certificate,
    settings: AttackSettings | None = None,
    *,
    plan: Plan | None = None,
    index: int = 0,
    method: str = "",
    stop: Event | None = None,
) -> AttackedInput:
    """Look for the nearest perturbation of `x` that ends what `certificate` claims of `target`.

    Args:
        classifier: the classifier that was certified.
        x: the input, of the classifier's shape.
        target: the class that the certificate speaks of.
        certificate: what to attack; the smoothing law and the grid are taken from it.
        settings: budget, alpha, norm and bounds of the attack.
        plan: the plan that the certificate came from, if that is known: its batch says how many
            votes are taken at once.
        index: the input's number in a run, which chooses the noise.
        method: the name of the method that is noted in the answer.
        stop: an event that ends the attack early once it is set.
    """
    chosen = settings or AttackSettings()
    grid = None if certificate.grid is None or plan is not None else certificate.grid.grid
    sampled = plan or Plan(certificate.law, (NEYMAN_PEARSON,), grid=grid)
    check_budget(chosen.budget, sampled.batch)
    image = checked_input(classifier, x, sampled, index)
    setting, claim = replace(setting_of(sampled), seed=chosen.seed), certificate.claim
    norm = chosen.norm or "l2"
    aim = Aim(classifier, image, sampled.law, setting, index, target, claim, norm)
    room = Room(image, classifier.bounds if chosen.clip else None, norm)
    radius = certificate.radius_in(norm)
    limits: dict[str, Any] = {"budget": chosen.budget, "alpha": chosen.alpha, "eps": chosen.eps}
    found = pursue(aim, room, radius, method, **limits, stop=stop or Event())
    return replace(found, pictures=_pictures(image, found.perturbation, classifier.bounds))


def attack_run(
    path: str | Path,
    classifier: Classifier,
    dataset: Dataset,
    settings: AttackSettings | None = None,
    *,
    indices: Sequence[int] | None = None,
    workers: int | None = None,
    restart: bool = False,
    progress: Watch | None = None,
    output: str | Path | None = None,
) -> AttackSummary:
    """Attack the certified inputs of a run, and keep the results in the run.

    Inputs that are finished already are not attacked again. A stop at any moment loses only the
    inputs in work; the results depend neither on stops nor on the number of threads.

    Args:
        path: the run folder.
        classifier: the model of the run; another one is refused.
        dataset: the data of the run; another one is refused.
        settings: budget, alpha, norm and bounds of the attack.
        indices: the inputs to attack; all certified inputs when None.
        workers: threads; all cores when None.
        restart: drop an attack with other settings, which is refused otherwise.
        progress: shows how far the attack is.
        output: a folder to copy the run into; the attack is kept there, and `path` stays as it is.
    """
    chosen = settings or AttackSettings()
    with open_run(path) as run:
        _check_source(run, classifier, dataset)
    if output is not None:
        copy_run(path, output)
        path = output
    threads = thread_count(workers)
    with open_run(path) as run:
        wanted = run.indices() if indices is None else _known(indices, run)
        sampled, targets = run.sampled_plan, _targets(run, wanted, chosen.method)
        check_budget(chosen.budget, sampled.batch)

        def attacked(index: int, stop: Event) -> AttackedInput:
            target, name, certificate = targets[index]
            asked = (classifier, dataset.input(index), target, certificate, chosen)
            return attack_input(*asked, plan=sampled, index=index, method=name, stop=stop)

        with start_attack(path, chosen.to_dict(), replace=restart) as writer:
            finished = writer.finished()
            todo = [index for index in targets if index not in finished]
            with (progress or unseen)(len(targets)) as counter:
                counter.skip(len(targets) - len(todo))
                keep_all(attacked, partial(_keep, writer, counter), todo, threads)
        everything = attacked_inputs(run)
        found = [everything[index] for index in sorted(targets)]
        norm = chosen.norm or "l2"
        return summarised(found, chosen.clip, norm, _rates(run, wanted, found, chosen.eps))


def _targets(
    run: Run, wanted: Sequence[int], method: str | None
) -> dict[int, tuple[int, str, Certificate]]:
    """The class to end, the method and the certificate to attack, for each certified input."""
    names = run.plan.names
    if method is not None and method not in names:
        raise InvalidInput(f"`method` must be one of {', '.join(names)}, got {method!r}")
    return {
        result.index: (result.target, *claim)
        for result in map(run.result, wanted)
        if (claim := attacked_certificate(result, method)) is not None
    }


def _rates(
    run: Run, wanted: Sequence[int], found: Sequence[AttackedInput], eps: float | None
) -> EpsRates | None:
    """Count what is proved within `eps` for these inputs of the run, attacked or not."""
    if eps is None:
        return None
    results = {index: run.result(index) for index in wanted}
    for_label = {i for i, one in results.items() if one.label in (None, one.target)}
    verdicts = [one.verdict for one in found if one.index in for_label]
    return EpsRates(
        eps=eps,
        inputs=len(results),
        right=sum(one.label in (None, one.predicted) for one in results.values()),
        robust=verdicts.count("robust"),
        changed=verdicts.count("changed"),
        undecided=verdicts.count("undecided"),
        wrong=len(found) - len(verdicts),
    )


def _keep(writer: AttackWriter, counter: Counter, attacked: AttackedInput) -> None:
    # Ctrl-C may fall between writing a result and knowing it.
    if attacked.index not in writer.finished():
        writer.add(attacked)
        counter.advance()


def attacked_certificate(result: RunResult, method: str | None) -> tuple[str, Certificate] | None:
    """Which certificate of an input is attacked: the largest, or that of the method."""
    claims = {
        name: one
        for name, one in result.certificates.items()
        if proves(one.status, one.radius) and one.radius > 0 and method in (None, name)
    }
    if not claims:
        return None
    name = max(claims, key=lambda name: claims[name].radius)
    return name, claims[name]


def _check_source(run: Run, classifier: Classifier, dataset: Dataset) -> None:
    """Refuse another model or other data than those of the run."""
    dataset = dataset.named_for(classifier)
    for what, stored, given in (
        ("model", run.config["model"]["fingerprint"], classifier.fingerprint),
        ("data", run.config["data"]["fingerprint"], dataset.fingerprint),
    ):
        if stored != given:
            raise StoreMismatch(
                f"{run.path} was certified with another {what}: stored {stored}, given {given}; "
                f"an attack needs the {what} of the run"
            )


def _known(indices: Sequence[int], run: Run) -> list[int]:
    there = set(run.indices())
    missing = [index for index in indices if index not in there]
    if missing:
        raise InvalidInput(f"`indices` must be inputs of {run.path}, got {missing[0]}")
    return list(indices)


def _pictures(
    x: NDArray[np.float32], moved: NDArray[np.float32] | None, bounds: tuple[float, float]
) -> tuple[bytes, bytes] | None:
    """PNG of the perturbation (middle grey: none; its largest value black or white) and of both."""
    if moved is None:
        return None
    most = float(np.abs(moved).max()) or 1.0
    difference, changed = thumbnail(moved, (-most, most)), thumbnail(x + moved, bounds)
    return None if difference is None or changed is None else (difference, changed)
