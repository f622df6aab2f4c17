"""A smoothed classifier for everyday use: predict and certify one input."""

from __future__ import annotations

import logging
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields
from difflib import get_close_matches
from threading import Event
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special, stats

from dsrs.certifying.one_input import (
    checked_input,
    note_on_distance,
    sample_input,
    setting_of,
    whole,
)
from dsrs.classifiers import Classifier, checked_classifier
from dsrs.classifiers.function_check import refuse_unless_function
from dsrs.errors import InvalidInput
from dsrs.laws import GeneralizedGaussian
from dsrs.laws.grid import DEFAULT, Grid
from dsrs.methods import Plan, certificates_of, defaults, methods_of
from dsrs.methods.looks import schedule
from dsrs.methods.plan import ADAPTIVE_BATCH
from dsrs.noise.seeds import fresh_seed
from dsrs.proofs.certificate import Certificate
from dsrs.votes import Collector, InlineCollector, Stream, VoteCollector, WorkUnit
from dsrs.votes.records import SampledInput

LOG = logging.getLogger("dsrs.counting")
PREDICTION = "predict"
STRAY_SHARE = 0.01  # of alpha: for votes that stray from the ideal noise


@dataclass(frozen=True, slots=True)
class Prediction:
    """What the smoothed classifier answers.

    `status` is "predicted" with a class in `label`, or "abstained" (then `label` is None): the two
    most frequent classes were too close to tell apart. `counts` are the votes by class: only as
    many as the answer took.

    `seed` is that of the votes, so that they can be taken again. With `seed_public` it was known
    before the input was, and a class can be had wrong by choosing the input (docs/security.md).
    """

    status: Literal["predicted", "abstained"]
    label: int | None
    counts: tuple[int, ...]
    seed: int
    seed_public: bool


class SmoothedClassifier:
    """A classifier made robust by voting under noise, with proofs of how robust it is.

    The smoothed answer for x is the class that the wrapped classifier gives most often when noise
    from `law` is added to x. Small changes of x cannot change that answer much, and `certify` says
    how small is small enough.

        classifier = dsrs.classifiers.load_classifier("net.onnx")
        law = dsrs.GeneralizedGaussian(d=784, sigma=0.5, k=380)
        smoothed = dsrs.SmoothedClassifier(classifier, law, n=100_000, alpha=0.001)
        smoothed.predict(x).label       # the class, or None when it abstains
        smoothed.certify(x).radius      # no change of x shorter than this changes the class

    The noise of each answer comes from fresh random bits of the operating system, drawn after the
    input has arrived: to choose an input, or to ask again, is no way to a wrong answer. With `seed`
    all answers are repeatable, and their noise is known to those who know the seed
    (docs/security.md).

    Args:
        classifier: what to wrap (see `dsrs.classifiers`).
        law: the noise; its `d` is the number of values of one input. More noise gives larger radii
            and a less accurate classifier.
        n: votes for one certificate. More votes give a larger radius, and take longer.
        alpha: how often a certificate may be wrong, at most.
        method: how to certify: `np`, `tailored`, or a law of double sampling such as
            `rescaled:0.8x`.
        n0: votes that choose the class to certify when no label is given.
        seed: for experiments: the same seed gives the same votes, whatever the machine's number of
            cores. None draws a fresh seed for each answer.
        workers: threads; all cores when None.
        grid: what inputs and noise are rounded to, so that certificates hold in floating point
            (docs/grid.md): "default" suits the classifier's bounds and the noise, and 8-bit images
            are exact on it; a `Grid`; or None, for noise added in float32.
        options: further fields of `Plan`: `fallback=True`, `early_stop=True`; with the methods `np`
            and `tailored` also `radius=1.0` (is this radius certified? stop when it is known),
            `radii=...`, `precision=0.01`, `classes="all"` and `bound="randomized"`.
    """

    def __init__(
        self,
        classifier: Classifier,
        law: GeneralizedGaussian,
        *,
        n: int = defaults.N,
        alpha: float = defaults.ALPHA,
        method: str = defaults.METHODS[-1],
        n0: int = defaults.N0,
        seed: int | None = None,
        workers: int | None = None,
        grid: Grid | Literal["default"] | None = DEFAULT,
        **options: Any,
    ) -> None:
        self.classifier = checked_classifier(classifier)
        self.workers = workers
        _refuse_unknown(options)
        plan = Plan(law, (method,), n=n, n0=n0, alpha=alpha, grid=grid, **options)
        plan = _with_fresh_seed(plan) if seed is None else plan.replace(seed=seed, seed_public=True)
        self.plan = plan.on_grid_of(classifier.bounds)
        methods_of(self.plan)  # refuses a plan that does not fit
        self._is_function = self._noted = False

    def predict(
        self,
        x: ArrayLike,
        n: int = defaults.PREDICTION_VOTES,
        alpha: float | None = None,
        *,
        index: int | None = None,
    ) -> Prediction:
        """The class of the smoothed classifier at x, or an abstention.

        Stops as soon as a two-sided binomial test tells the two most frequent classes apart
        (PREDICT of Cohen et al. 2019), and abstains if `n` votes do not. The test is made at looks
        that are fixed before the votes, each at its part of `alpha` (looks.py): it names a wrong
        class with at most that part (their Proposition 2, and Hung and Fithian 2019), so the
        answer is not the smoothed classifier's with probability at most alpha.

        x is rounded to the same grid as by `certify`, and the test allows for votes that stray
        from the ideal noise there. `index` chooses the noise of x, beside the seed.
        """
        image, number = self._accepted(x, index), checked_index(index)
        plan = self._plan_of_answer()
        alpha = plan.alpha if alpha is None else alpha
        plan = plan.replace(n0=n, alpha=alpha, batch=min(plan.batch, ADAPTIVE_BATCH))
        counts = np.zeros(self.classifier.num_classes, dtype=np.int64)
        label, stream = None, Stream(PREDICTION, plan.law)
        grid = plan.known_grid
        variation = 0.0 if grid is None else grid.variation(plan.law)
        with self._collector() as collector:
            for look in schedule(n, plan.alpha, plan.batch):
                unit = WorkUnit(number, stream, int(counts.sum()), look.votes)
                counted = collector.collect(self.classifier, image, setting_of(plan), unit)
                counts += counted.votes.sum(axis=1)
                label = told_apart(counts, look.alpha, variation)
                if label is not None:
                    break
        return Prediction(
            status="abstained" if label is None else "predicted",
            label=label,
            counts=tuple(counts.tolist()),
            seed=plan.seed,
            seed_public=plan.seed_public,
        )

    def certify(
        self, x: ArrayLike, label: int | None = None, *, index: int | None = None
    ) -> Certificate:
        """A proof that no change of x shorter than its `radius` changes the smoothed answer.

        Certifies `label` where it is given, else the class that n0 votes choose. Status
        "abstained" and radius 0 mean that no robustness could be proved. The certificate is wrong
        with probability at most `alpha` over the votes.

        `index` is the place of x in a dataset, and chooses its noise beside the seed: with the
        seed, votes and method of a run of `dsrs certify`, the certificate is that of the run. With
        a seed, inputs without an index share the noise of index 0.
        """
        sampled, plan = self._sampled(x, label, index)
        (certificate,) = certificates_of(sampled, plan).values()
        return certificate

    def sample(
        self, x: ArrayLike, label: int | None = None, *, index: int | None = None
    ) -> SampledInput:
        """The votes behind `certify`, to keep or to certify again with another alpha."""
        return self._sampled(x, label, index)[0]

    def _sampled(
        self, x: ArrayLike, label: int | None, index: int | None
    ) -> tuple[SampledInput, Plan]:
        self._accepted(x, index)
        plan, number = self._plan_of_answer(), checked_index(index)
        with self._collector() as collector:
            sampled = sample_input(self.classifier, x, plan, number, label, collector)
        note = note_on_distance(sampled.moved, plan)
        if note and not self._noted:
            self._noted = True
            LOG.warning(note)
        return sampled, plan

    def _collector(self) -> AbstractContextManager[Collector]:
        # A thread for a single worker would take longer than the votes of a small model.
        one = self.workers == 1
        return nullcontext(InlineCollector(Event())) if one else VoteCollector(self.workers)

    def _plan_of_answer(self) -> Plan:
        """The plan with the seed that was given, or with a fresh one."""
        return self.plan if self.plan.seed_public else _with_fresh_seed(self.plan)

    def _accepted(self, x: ArrayLike, index: int | None) -> NDArray[np.float32]:
        """The input, if it fits; the classifier is tried with the first one."""
        image = checked_input(self.classifier, x, self.plan, index)
        if not self._is_function:
            refuse_unless_function(self.classifier, image, self.plan.law.sigma, self.plan.batch)
            self._is_function = True
        return image


def checked_index(index: object) -> int:
    """`index` as an int, 0 for None; InvalidInput unless it is a number that may key the noise."""
    if index is None:
        return 0
    number = whole(index)
    if number is None or not 0 <= number < 2**56:
        raise InvalidInput(f"`index` must be a whole number from 0 to 2^56 - 1, got {index!r}")
    return number


def told_apart(counts: NDArray[np.int64], alpha: float, variation: float = 0.0) -> int | None:
    """The most frequent class, if it is not the second one's chance at level alpha.

    A vote made on the grid is that of ideal noise but with probability `variation` (docs/grid.md):
    as many votes as may stray, but for a share of alpha, are counted for the second class instead.
    """
    second, top = (int(place) for place in np.argsort(counts, kind="stable")[-2:])
    best, rest, stray = int(counts[top]), int(counts[second]), 0
    if variation > 0:
        votes, alpha_stray = int(counts.sum()), STRAY_SHARE * alpha
        stray = int(stats.binom.isf(alpha_stray, votes, variation))
        while stats.binom.sf(stray, votes, variation) > alpha_stray:
            stray += 1
        alpha -= alpha_stray
    best, rest = best - stray, rest + stray
    if best <= rest:
        return None
    # The two-sided test of one half: both tails are alike.
    return top if 2 * special.bdtr(rest, best + rest, 0.5) <= alpha else None


def _refuse_unknown(options: dict[str, Any]) -> None:
    """Raise InvalidInput if one of these is no option of a smoothed classifier."""
    known = [field.name for field in fields(Plan)]
    for name in options.keys() - set(known):
        close = get_close_matches(name.lower(), known, n=1)
        advice = f"did you mean `{close[0]}`?" if close else f"the options are {', '.join(known)}"
        raise InvalidInput(f"SmoothedClassifier has no option `{name}`; {advice}")


def _with_fresh_seed(plan: Plan) -> Plan:
    return plan.replace(seed=fresh_seed(), seed_public=False)
