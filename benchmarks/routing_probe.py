"""How much of the oracle's gain do routers between Gaussian noises keep?

    python benchmarks/routing_probe.py --data data/cifar10 --experts A.onnx:0.25 B.onnx:0.5 \
        --clean C.onnx

Experts are ONNX files of `dsrs train --hold-out 0.1`, each with its sigma; `--clean` is one that
was trained without noise. The inputs are held-out ones and every 10,000/N-th test input: no
network has learnt from them. Radii are predicted for n = 10,000 votes and alpha = 0.001.

A router sees the experts' own logits, or the last features of the clean network behind the DCT
denoiser: once without noise (the choice is free, nothing is certified), once under the noise of the
router, with the radius that the whole certifies. Every input is routed by what was learnt from
the other four fifths, and so is the best single noise it is compared with. Of more than two
experts the pair with the largest gain of an oracle is measured as well.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper
from scipy import special
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge

from dsrs.classifiers import Classifier
from dsrs.classifiers.loading import load_classifier
from dsrs.confidence.bootstrap import Resampling, interval, resampled_means
from dsrs.datasets import load_dataset
from dsrs.routing.forecast import (
    Floats,
    Integers,
    RoutedForecast,
    RouterLook,
    look_for_router,
    routed_radii,
)
from dsrs.routing.learning import LEARNERS, RoutingGoal, best_expert
from dsrs.routing.training import FOLDS
from dsrs.training.held_out import held_out
from dsrs.tuning import Objective

GOAL = RoutingGoal(Objective(), 10_000, 0.001)
LEARNT_VOTES = 8  # noisy copies of each input that regressions learn from
MARGIN_FOLDS = 3  # of the inputs that choose the margin
MARGINS = np.linspace(0.0, 1.0, 21)  # quantiles of the predicted gain from which a router changes
THRESHOLDS = np.linspace(0.01, 0.99, 40)
REGRESSIONS: dict[str, Callable[[], Ridge | HistGradientBoostingRegressor]] = {
    "ridge": lambda: Ridge(30.0),
    "boosting": lambda: HistGradientBoostingRegressor(
        max_iter=80, max_leaf_nodes=8, min_samples_leaf=60
    ),
}
Rows = NDArray[np.float32]


class CleanFeatures:
    """What the last layer of a clean network sees behind the denoiser, and its logits."""

    def __init__(self, file: str) -> None:
        model = onnx.load(file)
        last = next(node for node in model.graph.node if model.graph.output[0].name in node.output)
        known = {one.name: numpy_helper.to_array(one) for one in model.graph.initializer}
        self._weight, self._bias = (known[name] for name in last.input[1:])
        shape = ["n", self._weight.shape[1]]
        seen = onnx.helper.make_tensor_value_info(last.input[0], onnx.TensorProto.FLOAT, shape)
        model.graph.node.remove(last)
        del model.graph.output[:]
        model.graph.output.append(seen)
        with tempfile.TemporaryDirectory() as folder:
            name = Path(folder) / "features.onnx"
            onnx.save(model, name)
            self._behind = load_classifier(str(name), denoise="dct")

    def __call__(self, batch: Rows) -> tuple[Rows, Rows]:
        features = np.asarray(self._behind.scores(batch), np.float32)
        return features, features @ self._weight.T + self._bias


@dataclass
class Seen:
    """The network of the router in a look, which keeps all that other routers may see."""

    networks: Sequence[Classifier]
    clean: CleanFeatures | None
    logits: list[Rows] = field(default_factory=list)
    features: list[Rows] = field(default_factory=list)
    clean_logits: list[Rows] = field(default_factory=list)

    @property
    def num_classes(self) -> int:
        return self.networks[-1].num_classes

    def scores(self, batch: Rows) -> Rows:
        own = [np.asarray(net.scores(batch), np.float32) for net in self.networks]
        logs = [special.log_softmax(one, axis=1) for one in own]
        self.logits.append(np.concatenate([*logs, *map(np.exp, logs)], axis=1))
        if self.clean is not None:
            features, said = self.clean(batch)
            self.features.append(features)
            self.clean_logits.append(special.log_softmax(said, axis=1))
        return own[-1]

    def sources(self) -> dict[str, Rows]:
        """By name, what routers see of each input."""
        found = {"experts' logits": np.stack(self.logits)}
        if self.clean is not None:
            found["clean network behind dct"] = np.stack(self.features)
        return found


@dataclass(frozen=True)
class Probe:
    """Inputs with votes of all experts, and what routers see with noise and without."""

    look: RouterLook
    noisy: dict[str, Rows]
    clean_logits: Rows | None
    still: dict[str, Rows]
    margin_votes: int  # of the router, that choose the margin of regressions

    def between(self, experts: Sequence[int]) -> Probe:
        """The same with some of the experts."""
        sigmas = tuple(self.look.sigmas[place] for place in experts)
        look = replace(self.look, sigmas=sigmas, shares=self.look.shares[:, list(experts)])
        return replace(self, look=look)

    def oracle_gain(self) -> float:
        """By which share an oracle exceeds one noise."""
        return float(self.radii.max(axis=1).mean() / self.single().mean() - 1)

    def folds(self) -> list[NDArray[np.bool_]]:
        return [np.arange(len(self.look.labels)) % FOLDS == place for place in range(FOLDS)]

    @property
    def radii(self) -> Floats:
        return self.look.radii(GOAL.n, GOAL.alpha)

    def single(self) -> Floats:
        """The radius of the noise that is best on the other folds."""
        found = np.zeros(len(self.look.labels))
        for held in self.folds():
            found[held] = self.radii[held, best_expert(self.look.part(~held), GOAL)]
        return found


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data", required=True)
    options.add_argument("--experts", nargs="+", required=True, metavar="MODEL:SIGMA")
    options.add_argument("--clean", metavar="MODEL")
    options.add_argument("--router-sigma", type=float, help="default: the largest of the experts")
    options.add_argument("--held-out", type=int, default=1000)
    options.add_argument("--test", type=int, default=500)
    options.add_argument("--votes", type=int, default=128)
    options.add_argument("--margin-votes", type=int, help="that choose margins (default: all)")
    whole = look_at(options.parse_args())
    count = len(whole.look.sigmas)
    measure(whole)
    if count > 2:
        pairs = [whole.between(pair) for pair in itertools.combinations(range(count), 2)]
        measure(max(pairs, key=Probe.oracle_gain))


def measure(probe: Probe) -> None:
    """Print a table of all routers between these experts."""
    radii, single = probe.radii, probe.single()
    print(
        f"experts sigma {probe.look.sigmas}, router {probe.look.router_sigma:g}, {len(single)} "
        f"inputs: mean radius by expert {radii.mean(axis=0).round(4)}, one noise "
        f"{single.mean():.4f}, oracle {100 * probe.oracle_gain():+.1f}%"
    )
    row("oracle", radii.max(axis=1), probe)
    for source in probe.still:
        for name in REGRESSIONS:
            row(f"without noise: {name}, {source}", without_noise(probe, source, name), probe)
    row("noise: threshold on confidence", crossed(probe, threshold(probe)).radii, probe)
    for source in probe.noisy:
        for name in REGRESSIONS:
            found = crossed(probe, regression(probe, source, name))
            row(f"noise: {name}, {source}", found.radii, probe, found)
    looks = {"last expert's classes": probe.look}
    if probe.clean_logits is not None:
        looks["classes of the clean network"] = replace(probe.look, logarithms=probe.clean_logits)
    for source, look in looks.items():
        for name in LEARNERS:
            found = crossed(probe, head(look, name))
            row(f"noise: {name}, {source}", found.radii, probe, found)


def look_at(given: argparse.Namespace) -> Probe:
    pairs = [text.rpartition(":") for text in given.experts]
    known = {name: load_classifier(name) for name in dict.fromkeys(name for name, _, _ in pairs)}
    experts = [(known[name], float(sigma)) for name, _, sigma in pairs]
    train, test = load_dataset(given.data, "train"), load_dataset(given.data, "test")
    kept = np.random.default_rng(1).permutation(held_out(len(train), 0.1))[: given.held_out]
    shown = np.arange(0, len(test), len(test) // given.test)[: given.test]
    images = np.stack(
        [data.input(int(row)) for data, rows in ((train, kept), (test, shown)) for row in rows]
    )
    labels = np.concatenate([train.labels[kept], test.labels[shown]]).astype(np.int64)
    # Folds are by place: both kinds of inputs in each.
    order = np.random.default_rng(2).permutation(len(labels))
    images, labels = images[order], labels[order]
    clean = None if given.clean is None else CleanFeatures(given.clean)
    seen, calm = Seen(list(known.values()), clean), Seen(list(known.values()), clean)
    sigma = given.router_sigma or max(sigma for _, sigma in experts)
    look = look_for_router(experts, (seen, sigma), images, labels, given.votes)  # type: ignore[arg-type]
    for first in range(0, len(images), 64):
        calm.scores(images[first : first + 64])
    calm_parts = {name: np.concatenate(list(part)) for name, part in _parts(calm).items()}
    behind = np.stack(seen.clean_logits) if clean is not None else None
    margin = given.margin_votes or given.votes
    return Probe(look, seen.sources(), behind, calm_parts, margin)


def _parts(seen: Seen) -> dict[str, list[Rows]]:
    parts = {"experts' logits": seen.logits}
    return parts if seen.clean is None else parts | {"clean network behind dct": seen.features}


def without_noise(probe: Probe, source: str, name: str) -> Floats:
    """The radius of the expert that a regression on clean inputs calls best."""
    radii, found = probe.radii, np.zeros(len(probe.look.labels))
    features = probe.still[source]
    for held in probe.folds():
        expert = best_expert(probe.look.part(~held), GOAL)
        told = fitted(name, features[~held], radii[~held] - radii[~held, [expert]][:, None])(
            features[held]
        )
        told[:, expert] = 0.0
        found[held] = radii[held][np.arange(held.sum()), told.argmax(axis=1)]
    return found


def fitted(name: str, features: Floats | Rows, gains: Floats) -> Callable[[Rows], Floats]:
    """Regressions of the gain of each expert."""
    scale = features.std(axis=0) + 1e-6
    models = [REGRESSIONS[name]().fit(features / scale, column) for column in gains.T]
    return lambda rows: np.stack([model.predict(rows / scale) for model in models], axis=-1)


# From the inputs that are learnt from and those that are held, to the answers for the held ones.
Router = Callable[[NDArray[np.bool_], NDArray[np.bool_]], Integers]


def crossed(probe: Probe, router: Router) -> RoutedForecast:
    """What a router certifies on inputs that it did not learn from."""
    size = len(probe.look.labels)
    answers = np.zeros((size, probe.look.logarithms.shape[1]), np.int64)
    for held in probe.folds():
        answers[held] = router(~held, held)
    return routed_radii(probe.look, answers, GOAL.n, GOAL.alpha)


def regression(probe: Probe, source: str, name: str) -> Router:
    """Names the expert with the largest predicted gain over the best one, if it exceeds a margin
    that is best on inputs that the regression did not learn from."""
    features, radii = probe.noisy[source], probe.radii

    def answers(known: NDArray[np.bool_], held: NDArray[np.bool_]) -> Integers:
        look, own = probe.look.part(known), features[known]
        expert = best_expert(look, GOAL)
        gains = np.delete(radii[known] - radii[known, [expert]][:, None], expert, axis=1)
        others = np.delete(np.arange(radii.shape[1]), expert)

        def told(part: Rows, learnt: NDArray[np.bool_]) -> Floats:
            some = own[learnt][:, :LEARNT_VOTES]
            rows = some.reshape(-1, some.shape[2])
            predict = fitted(name, rows, np.repeat(gains[learnt], some.shape[1], axis=0))
            return predict(part.reshape(-1, part.shape[2])).reshape(*part.shape[:2], -1)

        def routed(gain: Floats, margin: float) -> Integers:
            return np.where(gain.max(axis=2) > margin, others[gain.argmax(axis=2)], expert)

        inner, few = np.arange(len(own)) % MARGIN_FOLDS, own[:, : probe.margin_votes]
        honest = np.zeros((*few.shape[:2], len(others)))
        for place in range(MARGIN_FOLDS):
            honest[inner == place] = told(few[inner == place], inner != place)
        tried = [
            (GOAL.value(routed_radii(look, routed(honest, cut), GOAL.n, GOAL.alpha).radii), cut)
            for cut in np.quantile(honest.max(axis=2), MARGINS)
        ]
        return routed(told(features[held], np.ones(len(own), bool)), max(tried)[1])

    return answers


def head(look: RouterLook, name: str) -> Router:
    """A table from class to expert, or weights on probabilities (`dsrs route --data`)."""
    return lambda known, held: LEARNERS[name](look.part(known), GOAL).answers(look.part(held))


def threshold(probe: Probe) -> Router:
    """One expert of the two best where the network is less sure than a cut, else the other."""
    sure, look = probe.look.logarithms.max(axis=2), probe.look

    def answers(known: NDArray[np.bool_], held: NDArray[np.bool_]) -> Integers:
        first, second = np.argsort(-probe.radii[known].mean(axis=0))[:2].tolist()
        rules = [
            (cut, pair)
            for cut in np.quantile(sure[known], THRESHOLDS)
            for pair in ((first, second), (second, first))
        ]

        def value(rule: tuple[float, tuple[int, int]]) -> float:
            said = np.where(sure[known] < rule[0], *rule[1])
            return GOAL.value(routed_radii(look.part(known), said, GOAL.n, GOAL.alpha).radii)

        cut, pair = max(rules, key=value)
        return np.where(sure[held] < cut, *pair)

    return answers


def row(name: str, radii: Floats, probe: Probe, found: RoutedForecast | None = None) -> None:
    """Print a mean radius, its gain over one noise, and the share of the oracle's gain."""
    single, draw = probe.single(), Resampling()
    columns = np.stack([radii - single, probe.radii.max(axis=1) - single], axis=1)
    drawn = resampled_means(columns, draw)
    low, high = interval(drawn[:, :1], draw.confidence)
    least, most = interval(100 * drawn[:, :1] / drawn[:, 1:], draw.confidence)
    gain, possible = columns.mean(axis=0)
    extra = "" if found is None else f"; published form {(found.published - single).mean():+.4f}"
    print(
        f"{name:52s} {radii.mean():.4f} (one noise {single.mean():.4f}): {gain:+.4f} "
        f"[{low[0]:+.4f}, {high[0]:+.4f}], {100 * gain / possible:.0f}% "
        f"[{least[0]:.0f}, {most[0]:.0f}] of the oracle's gain{extra}",
        flush=True,
    )


if __name__ == "__main__":
    main()
