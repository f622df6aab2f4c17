"""A smoothed classifier for everyday use: `dsrs.smooth` makes it, it predicts and certifies."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from dataclasses import fields, replace
from importlib.resources import as_file, files
from pathlib import Path
from threading import Event
from typing import Any, Literal, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dsrs.certifying import (
    Origin,
    Progress,
    certify_run,
    checked_index,
    checked_input,
    is_watched,
    keep_all,
    note_on_distance,
    sample_input,
)
from dsrs.classifiers import Classifier, checked_classifier, load_classifier, refuse_unless_function
from dsrs.datasets import Dataset, load_dataset, select
from dsrs.errors import InvalidInput, MissingExtra, ShapeNeeded
from dsrs.files import Readable
from dsrs.kernels import available_cores, thread_count
from dsrs.laws import DEFAULT_GRID, GeneralizedGaussian, Grid, shown
from dsrs.methods import Plan, certificates_of, defaults, methods_of
from dsrs.noise import fresh_seed
from dsrs.proofs import Certificate
from dsrs.smoothed.certified_run import CertifiedRun, Folder
from dsrs.smoothed.prediction import Prediction, answered, plan_of_answer
from dsrs.smoothed.source import MODEL_OPTIONS, Source, one_or_many, refuse_unknown, source_of
from dsrs.store import drawn_seed
from dsrs.votes import Collector, InlineCollector, SampledInput, VoteCollector

LOG = logging.getLogger("dsrs.counting")
OWN_FIELDS = ("law", "methods", "seed_public")  # of a plan: what is given in another way
PLAN_OPTIONS = [field.name for field in fields(Plan) if field.name not in OWN_FIELDS]
OPTIONS = ("method", "workers", *PLAN_OPTIONS)


class SmoothedClassifier(Readable):
    """A classifier made robust by voting under noise, with proofs of how robust it is.

    The smoothed answer for x is the class that the wrapped classifier gives most often when noise
    from `law` is added to x. Small changes of x cannot change that answer much, and `certify` says
    how small is small enough. `dsrs.smooth` makes one from a model as you have it; or

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
            `radii=...`, `precision=0.01` and `classes="all"`.
    """

    def __init__(
        self,
        classifier: Classifier | Source,
        law: GeneralizedGaussian | None = None,
        *,
        n: int = defaults.N,
        alpha: float = defaults.ALPHA,
        method: str = defaults.DEFAULT_METHODS[-1],
        n0: int = defaults.N0,
        seed: int | None = None,
        workers: int | None = None,
        grid: Grid | Literal["default"] | None = DEFAULT_GRID,
        **options: Any,
    ) -> None:
        refuse_unknown(options, [*OPTIONS], "SmoothedClassifier")
        if not isinstance(method, str):
            raise InvalidInput(f"`method` must be a text such as 'np', got {shown(method)}")
        self.workers = None if workers is None else thread_count(workers)
        self._seed = seed
        self._settings: dict[str, Any] = options | {
            **{"methods": (method,), "n": n, "n0": n0, "alpha": alpha, "grid": grid}
        }
        self._is_function = self._noted = False
        self._source = classifier if isinstance(classifier, Source) else None
        self._ready: tuple[Classifier, Plan] | None = None
        self._threads: Collector | None = None
        self._interrupted: tuple[str, Folder, Plan] | None = None
        if self._source is None:
            known = checked_classifier(classifier)
            if law is None:
                raise InvalidInput("`law`, the noise, must be given, or `sigma` to dsrs.smooth")
            self._settle(known, law)
            return
        try:
            self._settle(*self._source.at(None))
        except ShapeNeeded:
            # The first input tells the shape. What else may be wrong is said now.
            self._plan_for(self._source.law(max(1024, 4 * int(abs(self._source.k)))))

    @property
    def classifier(self) -> Classifier:
        """What is smoothed."""
        return self._known()[0]

    @property
    def plan(self) -> Plan:
        """Noise, method, votes and alpha."""
        return self._known()[1]

    def facts(self) -> dict[str, object]:
        """What a person wants to know first."""
        if self._ready is None:
            assert self._source is not None
            model = f"{type(self._source.model).__name__}, for inputs of the shape of the first one"
            return {"model": model, "sigma": f"{self._source.sigma:g}"}
        classifier, plan = self._ready
        return {
            "model": classifier.description,
            "noise": plan.law.describe(),
            "method": plan.names[0],
            "n": f"{plan.n:,}",
            "alpha": f"{plan.alpha:g}",
            "seed": plan.seed if plan.seed_public else "fresh for each answer",
        }

    def predict(
        self,
        x: Any,
        n: int = defaults.PREDICTION_VOTES,
        alpha: float | None = None,
        *,
        radius: float | None = None,
        index: int | Sequence[int] | None = None,
    ) -> Any:
        """The class of the smoothed classifier at x, or an abstention.

        One input gives a `Prediction`, several give a list of them.

        Stops as soon as a two-sided binomial test tells the two most frequent classes apart
        (PREDICT of Cohen et al. 2019), and abstains if `n` votes do not. The test is made at looks
        that are fixed before the votes, each at its part of `alpha` (looks.py): it names a wrong
        class with at most that part (their Proposition 2, and Hung and Fithian 2019), so the
        answer is not the smoothed classifier's with probability at most alpha.

        x is rounded to the same grid as by `certify`, and the test allows for votes that stray
        from the ideal noise there.

        Args:
            x: one input of the classifier's shape, or many, as `certify` takes them.
            n: votes for one answer, at most.
            alpha: how often an answer may be wrong, at most; that of the classifier when None.
            radius: answer with the class only if it is certified at this radius, with at most `n`
                votes after those that choose it, and stop as soon as that is known; the certificate
                is part of the answer. Methods that have no early answer give way to `np` here.
            index: of one input, its number, which chooses the noise beside the seed; of many
                inputs, the numbers of those to answer, all when None.
        """
        taken = self._taken(x, None)
        plan = plan_of_answer(self.plan, n, alpha, radius)
        if isinstance(taken, Dataset):
            return self._predict_all(taken, index, plan)
        image, number = self._accepted(taken, index), checked_index(index)
        return answered(self.classifier, image, plan, number, self._collector())

    @overload
    def certify(self, x: ArrayLike, label: int, *, index: int | None = None) -> Certificate: ...

    @overload
    def certify(
        self,
        x: Any,
        label: Any = None,
        *,
        labels: Any = None,
        index: int | Sequence[int] | None = None,
        save: str | Path | None = None,
        progress: bool | None = None,
    ) -> Any: ...

    def certify(
        self,
        x: Any,
        label: Any = None,
        *,
        labels: Any = None,
        index: int | Sequence[int] | None = None,
        save: str | Path | None = None,
        progress: bool | None = None,
    ) -> Any:
        """A proof that no change of x shorter than its `radius` changes the smoothed answer.

        One input gives a `Certificate`, several give a `CertifiedRun`. Certifies the label where
        it is given, else the class that n0 votes choose. Status "abstained" and radius 0 mean that
        no robustness could be proved. A certificate is wrong with probability at most `alpha` over
        the votes.

        Args:
            x: one input of the classifier's shape; or many: an array or tensor (n, ...), a
                `Dataset` of this package or of PyTorch, a DataLoader, a list of inputs.
            label: the class of the input, or those of all inputs.
            labels: another name of `label`.
            index: of one input, its place in a dataset. It chooses the noise beside the seed: with
                the seed, votes and method of a run of `dsrs certify`, the certificate is that of
                the run. With a seed, inputs without an index share the noise of index 0. Of many
                inputs, those to certify, by their places; all when None.
            save: the run folder to keep many inputs in, as that of `dsrs certify`; where it holds
                the same run already, that is continued. Without it the result is kept until it is
                thrown away, or saved.
            progress: whether to show a bar; by default on a terminal and in a notebook.
        """
        known = label if labels is None else labels
        taken = self._taken(x, known)
        if isinstance(taken, Dataset):
            return self._certify_all(taken, index, save, progress)
        if save is not None:
            raise InvalidInput(
                "`save` is the folder of many inputs; one certificate is text: "
                "Path(name).write_text(certificate.to_json())"
            )
        sampled, plan = self._sampled(taken, known, index)
        (certificate,) = certificates_of(sampled, plan).values()
        return certificate

    def sample(
        self, x: ArrayLike, label: int | None = None, *, index: int | None = None
    ) -> SampledInput:
        """Return the votes behind the certificate of one input, to certify with another alpha.

        Args:
            x: one input of the classifier's shape.
            label: the class of the input; the class that n0 votes choose when None.
            index: the input's number, which chooses the noise beside the seed.
        """
        return self._sampled(self._taken(x, label), label, index)[0]

    def _predict_all(self, data: Dataset, index: Any, plan: Plan) -> list[Prediction]:
        """The answers to many inputs: each worker takes an input after the other."""
        model, places, found = self.classifier, _places(data, index), dict[int, Prediction]()
        data.check_fits(model.input_shape, model.num_classes, model.bounds)
        self._accepted(data.input(places[0]), places[0])  # the model is tried once

        def answer(place: int, stop: Event) -> tuple[int, Prediction]:
            image, inline = self._accepted(data.input(place), place), InlineCollector(stop)
            return place, answered(model, image, plan, place, inline)

        keep_all(answer, lambda one: found.update([one]), places, self.workers or available_cores())
        return [found[place] for place in places]

    def _certify_all(
        self, data: Dataset, index: Any, save: str | Path | None, progress: bool | None
    ) -> CertifiedRun:
        """Certify many inputs. All of them are here before the seed of their noise is drawn."""
        folder, plan = self._place_of(data, save)
        quiet, places = not (is_watched() if progress is None else progress), _places(data, index)
        device = "cpu" if self._source is None else self._source.options.device
        try:
            certify_run(
                self.classifier,
                data,
                plan,
                places,
                folder.path,
                workers=self.workers,
                origin=Origin(device),
                progress=lambda total: Progress(total, "certifying", quiet=quiet),
            )
        except KeyboardInterrupt:
            self._interrupted = data.fingerprint, folder, plan
            raise
        return CertifiedRun(folder, places)

    def _place_of(self, data: Dataset, save: str | Path | None) -> tuple[Folder, Plan]:
        """Where to keep the inputs, and the plan with its seed; what was interrupted goes on."""
        if save is not None and not isinstance(save, str | os.PathLike):
            raise InvalidInput(f"`save` must be the path of a folder, got {shown(save)}")
        before, self._interrupted = self._interrupted, None
        if save is None and before is not None and before[0] == data.fingerprint:
            return before[1:]
        folder, plan = Folder(save), self._plan_of_answer()
        drawn = None if save is None or plan.seed_public else drawn_seed(save)
        return folder, plan if drawn is None else plan.replace(seed=drawn)

    def _sampled(self, x: Any, label: Any, index: Any) -> tuple[SampledInput, Plan]:
        image = self._accepted(x, index)
        plan, number = self._plan_of_answer(), checked_index(index)
        sampled = sample_input(self.classifier, image, plan, number, label, self._collector())
        note = note_on_distance(sampled.moved, plan)
        if note and not self._noted:
            self._noted = True
            LOG.warning(note)
        return sampled, plan

    def _taken(self, x: Any, labels: Any) -> NDArray[Any] | Dataset:
        """One input as an array, many as a dataset; the first ones tell an open shape."""
        if self._ready is not None:
            classifier = self._ready[0]
            return one_or_many(x, labels, tuple(classifier.input_shape), classifier.bounds)
        assert self._source is not None
        found = one_or_many(x, labels, None, self._source.options.bounds)
        shape = found.input_shape if isinstance(found, Dataset) else found.shape
        self._settle(*self._source.at(shape))
        return found

    def _settle(self, classifier: Classifier, law: GeneralizedGaussian) -> None:
        """Take this classifier and this noise; everything is known from now on."""
        plan = self._plan_for(law).on_grid_of(classifier.bounds)
        methods_of(plan)  # now that the grid is known
        self._ready = classifier, plan

    def _plan_for(self, law: GeneralizedGaussian) -> Plan:
        """The plan with this noise; refuses settings that do not fit each other."""
        plan = Plan(law, **self._settings)
        given = self._seed is not None
        plan = plan.replace(seed=self._seed, seed_public=True) if given else _with_fresh_seed(plan)
        methods_of(plan)
        return plan

    def _known(self) -> tuple[Classifier, Plan]:
        if self._ready is None:
            raise ShapeNeeded(
                "the shape of inputs is taken from the first one; ask about an input before, or "
                "give `input_shape` to dsrs.smooth"
            )
        return self._ready

    def _collector(self) -> Collector:
        """The threads that count votes, kept from one answer to the next."""
        if self._threads is None:
            # A thread for a single worker would take longer than the votes of a small model.
            one = self.workers == 1
            self._threads = InlineCollector(Event()) if one else VoteCollector(self.workers)
        return self._threads

    def _plan_of_answer(self) -> Plan:
        """The plan with the seed that was given, or with a fresh one."""
        return self.plan if self.plan.seed_public else _with_fresh_seed(self.plan)

    def _accepted(self, x: ArrayLike, index: Any) -> NDArray[np.float32]:
        """The input, if it fits; the classifier is tried with the first one."""
        image = checked_input(self.classifier, x, self.plan, index)
        if not self._is_function:
            refuse_unless_function(self.classifier, image, self.plan.law.sigma, self.plan.batch)
            self._is_function = True
        return image

    def __getstate__(self) -> dict[str, Any]:
        """For pickle: all but threads; a classifier that is ready knows its model itself."""
        state = self.__dict__ | {"_threads": None, "_interrupted": None}
        if self._source is not None and self._ready is not None:
            state["_source"] = replace(self._source, model=None)
        return state


def _places(data: Dataset, index: Any) -> list[int]:
    """Which inputs of the data: all, or those at `index`."""
    return [int(place) for place in select(data, indices=index)]


def _with_fresh_seed(plan: Plan) -> Plan:
    return plan.replace(seed=fresh_seed(), seed_public=False)


# ---- From a model to its smoothed classifier in one call, and the embedded example


def smooth(
    model: Any, sigma: float | None = None, *, k: float = 0.0, **options: Any
) -> SmoothedClassifier:
    """A model made robust by voting under noise.

        smoothed = dsrs.smooth(module, sigma=0.5)
        result = smoothed.certify(images, labels)

    Args:
        model: a PyTorch module in evaluation mode (a Hugging Face one too, by its `logits`), the
            name of an ONNX file or whatever else `load_classifier` reads, a fitted scikit-learn
            estimator, a function of float32 batches, or a `Classifier`.
        sigma: the size of the noise, in the units of the inputs.
        k: the exponent of the noise law; 0 is the Gaussian.
        options: those of `SmoothedClassifier` (`n`, `alpha`, `method`, `seed`, `radius`, ...), and
            how to read the model, the fields of `dsrs.classifiers.ModelOptions`: `input_shape`
            (default: that of the model, or of the first input), `bounds` (default: [0, 1]),
            `num_classes`, `mean` and `std` of a model that expects (x - mean) / std, `device`,
            `precision="bfloat16"` and `engine="compiled"` of a PyTorch module (`precision=0.01` is
            that of radii).
    """
    refuse_unknown(options, [*OPTIONS, *MODEL_OPTIONS], "smooth")
    # A number is the precision of a radius, at which votes end.
    of_votes = {"precision"} if not isinstance(options.get("precision"), str) else set()
    named = [name for name in MODEL_OPTIONS if name in options and name not in of_votes]
    of_model = {name: options.pop(name) for name in named}
    return SmoothedClassifier(source_of(model, sigma, k, of_model), **options)


class Demo(NamedTuple):
    """A small classifier of Fashion-MNIST, trained under noise of sigma 0.5, and test images.

    `images` are 100 of shape (1, 28, 28), as bytes, `labels` their classes.
    """

    model: Classifier
    images: NDArray[np.uint8]
    labels: NDArray[np.int64]

    def __repr__(self) -> str:
        return f"Demo(model={self.model!r}, images: {len(self.images)}, labels: {len(self.labels)})"


def load_demo() -> Demo:
    """The model and the images of the package: `model, images, labels = load_demo()`."""
    try:
        with as_file(files("dsrs") / "demo") as folder:
            data = load_dataset(folder / "images.npz")
            model = load_classifier(folder / "model.onnx", input_shape=data.input_shape)
            return Demo(model, np.asarray(data.images), np.asarray(data.labels))
    except MissingExtra as error:
        raise MissingExtra(error.package, "demo") from error
