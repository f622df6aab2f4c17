"""How much of the oracle's gain do routers between Gaussian noises keep?

    python benchmarks/routing_probe.py --data data/fashion-mnist --experts MODEL:0.75 MODEL:1

Experts are ONNX files of `dsrs train --hold-out 0.1`, each with its sigma. Routers learn from
inputs that were held out of training and are measured on every 20th test input: once without noise
(the choice is free, nothing is certified), once under the largest sigma with the radius that the
whole certifies. Radii are predicted for n = 10,000 votes and alpha = 0.001.
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy import special
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge

from dsrs.classifiers.loading import load_classifier
from dsrs.classifiers.routed import Member
from dsrs.confidence.bootstrap import Resampling, interval, resampled_means
from dsrs.datasets import load_dataset
from dsrs.routing.forecast import Floats, RouterLook, routed_radii
from dsrs.routing.learning import LEARNERS, RoutingGoal, best_expert, on_other_inputs
from dsrs.routing.training import FOLDS, look_at_experts
from dsrs.training.held_out import held_out
from dsrs.tuning import Objective

GOAL = RoutingGoal(Objective(), 10_000, 0.001)
THRESHOLDS = np.linspace(0.01, 0.99, 40)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data", required=True)
    options.add_argument("--experts", nargs="+", required=True, metavar="MODEL:SIGMA")
    options.add_argument("--held-out", type=int, default=1000)
    options.add_argument("--test", type=int, default=500)
    options.add_argument("--votes", type=int, default=128)
    given = options.parse_args()
    pairs = [text.rpartition(":") for text in given.experts]
    experts = [Member(model, float(sigma)) for model, _, sigma in pairs]
    train, test = load_dataset(given.data, "train"), load_dataset(given.data, "test")
    kept = np.random.default_rng(1).permutation(held_out(len(train), 0.1))[: given.held_out]
    shown = np.arange(0, len(test), len(test) // given.test)[: given.test]
    looks, clean = [], []
    for data, rows in ((train, kept), (test, shown)):
        images = np.stack([data.input(int(row)) for row in rows])
        looks.append(look_at_experts(experts, images, data.labels[rows], given.votes))
        networks = [load_classifier(name) for name in dict.fromkeys(m.model for m in experts)]
        clean.append([special.log_softmax(net.scores(images), axis=1) for net in networks])
    learn, judge = looks
    expert = best_expert(learn, GOAL)
    _without_noise(learn, judge, clean, expert)
    rival = int(np.argmax(np.delete(judge.radii(GOAL.n, GOAL.alpha).mean(axis=0), expert)))
    _under_noise(learn, judge, expert, rival + (rival >= expert))


def _without_noise(
    learn: RouterLook, judge: RouterLook, clean: list[list[Floats]], expert: int
) -> None:
    known, asked = (look.radii(GOAL.n, GOAL.alpha) for look in (learn, judge))
    print(f"test inputs: one noise {asked[:, expert].mean():.4f}, by expert {asked.mean(axis=0)}")
    features = [np.concatenate([*each, *map(np.exp, each)], axis=1) for each in clean]
    gain = known - known[:, [expert]]
    forest = HistGradientBoostingRegressor(max_iter=80, max_leaf_nodes=8, min_samples_leaf=60)
    for name, model in (("ridge", Ridge(3.0)), ("boosting", forest)):
        told = np.stack(
            [
                model.fit(features[0], gain[:, place]).predict(features[1])
                for place in range(gain.shape[1])
            ],
            axis=1,
        )
        chosen = np.where(told.max(axis=1) > 0, told.argmax(axis=1), expert)
        _row(f"no noise: {name} on logits", asked[np.arange(len(asked)), chosen], asked, expert)


def _under_noise(learn: RouterLook, judge: RouterLook, expert: int, rival: int) -> None:
    asked = judge.radii(GOAL.n, GOAL.alpha)
    sure, tested = (look.logarithms.max(axis=2) for look in (learn, judge))
    rules = [
        (
            GOAL.value(routed_radii(learn, _rule(sure, cut, pair), GOAL.n, GOAL.alpha).radii),
            cut,
            pair,
        )
        for cut in np.quantile(sure, THRESHOLDS)
        for pair in ((rival, expert), (expert, rival))
    ]
    _, cut, pair = max(rules)
    found = routed_radii(judge, _rule(tested, cut, pair), GOAL.n, GOAL.alpha)
    _row("noise: threshold on confidence", found.radii, asked, expert)
    for name, learner in LEARNERS.items():
        found = GOAL.forecast(judge, learner(learn, GOAL))
        _row(f"noise: {name}", found.radii, asked, expert)
        _row(f"noise: {name}, published form", found.published, asked, expert)
        known = learn.radii(GOAL.n, GOAL.alpha)
        across = on_other_inputs(name, learn, GOAL, FOLDS)
        _row(f"noise: {name}, held-out inputs", across.radii, known, expert)


def _rule(sure: Floats, cut: float, pair: tuple[int, int]) -> np.ndarray:
    """The first of the pair where the network is less sure than `cut`, else the second."""
    return np.where(sure < cut, *pair)


def _row(name: str, radii: Floats, experts: Floats, expert: int) -> None:
    single, oracle = experts[:, expert], experts.max(axis=1)
    draw = Resampling()
    low, high = interval(resampled_means((radii - single)[:, None], draw), draw.confidence)
    possible = (oracle - single).mean()
    print(
        f"{name:34s} {radii.mean():.4f} (one noise {single.mean():.4f}, oracle "
        f"{oracle.mean():.4f}): {(radii - single).mean():+.4f} [{low[0]:+.4f}, {high[0]:+.4f}], "
        f"{100 * (radii - single).mean() / possible:.0f}% of the oracle's gain",
        flush=True,
    )


if __name__ == "__main__":
    main()
