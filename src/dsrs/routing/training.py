"""Train a router between Gaussian noises, and write it only where it is predicted to pay.

The inputs must be ones that no expert was trained on: radii on training inputs are inflated, most
for small noise. The router is made from the network of the expert with the largest sigma, under
that sigma, so that a routed vote costs what a vote of an expert costs.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsrs.classifiers import load_classifier, onnx_graph
from dsrs.classifiers.routed import Member
from dsrs.confidence.bootstrap import Resampling, interval, resampled_means
from dsrs.errors import InvalidInput
from dsrs.files.whole import write_whole
from dsrs.routing.folder import write_route
from dsrs.routing.forecast import Floats, Integers, RouterLook, look_for_router
from dsrs.routing.learning import LEARNERS, RouterHead, RoutingGoal, best_expert, on_other_inputs

FOLDS = 5
LEAST_INPUTS = 20  # fewer cannot be divided into folds that tell anything
LEAST_ORACLE_GAIN = 0.05  # below it no router pays for its own doubt
ROUTER_NAME, ROUTER_CARD_NAME = "router.onnx", "card.json"


@dataclass(frozen=True, slots=True)
class RouterPrediction:
    """What one noise, an oracle and a learnt router are expected to certify on other inputs.

    `single` is the value of the best expert alone, `oracle` that of the best expert of each input,
    `routed` that of the router (cross-validated), `low` and `high` the ends of the paired bootstrap
    interval of routed - single. `published` is the value of the form min(s_i, min_j e_j).
    `routes` says how many inputs each expert gets. `learner` is empty where none was tried.
    """

    expert: int
    single: float
    oracle: float
    learner: str = ""
    routed: float = 0.0
    low: float = 0.0
    high: float = 0.0
    published: float = 0.0
    routes: tuple[int, ...] = ()

    @property
    def oracle_gain(self) -> float:
        """By what share an oracle exceeds the best single noise."""
        return self.oracle / self.single - 1 if self.single > 0 else 0.0

    @property
    def kept(self) -> float:
        """The share of the oracle's gain that the router keeps."""
        gain = self.oracle - self.single
        return (self.routed - self.single) / gain if self.learner and gain > 0 else 0.0

    @property
    def pays(self) -> bool:
        return bool(self.learner) and self.low > 0

    def reason(self) -> str:
        """Why no router is written; empty where it pays."""
        if self.pays:
            return ""
        if not self.learner:
            return (
                f"an oracle would gain {100 * self.oracle_gain:.1f}% over one noise, less than "
                f"{100 * LEAST_ORACLE_GAIN:.0f}%: routing cannot pay"
            )
        if max(self.routes) == sum(self.routes):
            return f"every router collapsed to one expert, number {int(np.argmax(self.routes))}"
        return "the interval of the router's gain is not above 0"


def predict_router(
    look: RouterLook, goal: RoutingGoal, resampling: Resampling | None = None
) -> RouterPrediction:
    """Whether a router would pay: the best learner on inputs that it did not learn from."""
    if len(look.labels) < LEAST_INPUTS:
        raise InvalidInput(
            f"a router needs at least {LEAST_INPUTS} inputs to learn from, got {len(look.labels)}"
        )
    radii = look.radii(goal.n, goal.alpha)
    expert = best_expert(look, goal)
    single = goal.objective.by_input(radii[:, expert])
    oracle = goal.objective.of(radii.max(axis=1))
    alone = RouterPrediction(expert, float(single.mean()), oracle)
    if alone.oracle_gain < LEAST_ORACLE_GAIN:
        return alone
    forecasts = {name: on_other_inputs(name, look, goal, FOLDS) for name in LEARNERS}
    learner = max(forecasts, key=lambda name: goal.objective.of(forecasts[name].radii))
    best = forecasts[learner]
    routed = goal.objective.by_input(best.radii)
    drawn = resampling or Resampling()
    low, high = interval(resampled_means((routed - single)[:, None], drawn), drawn.confidence)
    return RouterPrediction(
        expert,
        alone.single,
        oracle,
        learner,
        float(routed.mean()),
        float(low[0]),
        float(high[0]),
        goal.objective.of(best.published),
        tuple(np.bincount(best.named, minlength=len(look.sigmas)).tolist()),
    )


def look_at_experts(
    experts: Sequence[Member],
    images: NDArray[np.float32],
    labels: Integers,
    votes: int,
    seed: int = 0,
) -> RouterLook:
    """Votes of these experts, and of the network with the largest noise as the router's."""
    for member in experts:
        if not member.sigma or member.k or member.eta != 2:
            raise InvalidInput("a router is trained between experts with Gaussian noise (k = 0)")
    source = router_source(experts)
    loaded = [load_classifier(member.model, **member.options) for member in experts]
    pairs = [(model, member.sigma) for model, member in zip(loaded, experts, strict=True)]
    return look_for_router(pairs, pairs[list(experts).index(source)], images, labels, votes, seed)


def router_source(experts: Sequence[Member]) -> Member:
    """The expert whose network becomes the router's: that of the largest noise."""
    source = max(experts, key=lambda member: member.sigma)
    if Path(source.model).suffix != ".onnx" or source.options:
        raise InvalidInput(
            f"the router is made from the ONNX file of the expert with the largest sigma, as it "
            f"is; got {source.model}"
        )
    return source


def write_router(
    folder: str | Path, experts: Sequence[Member], head: RouterHead, card: dict[str, Any]
) -> None:
    """Write router.onnx, route.toml and card.json into a new folder."""
    target = Path(folder)
    target.mkdir(parents=True)
    source = router_source(experts)
    network = onnx_graph.model_of_file(Path(source.model))
    whole = onnx_graph.in_series(network, _head_graph(head))
    write_whole(target / ROUTER_NAME, onnx_graph.bytes_of(whole))
    write_route(target, Member(str(target / ROUTER_NAME), source.sigma), experts)
    write_whole(target / ROUTER_CARD_NAME, json.dumps(card, indent=1).encode())


def router_card(
    look: RouterLook, goal: RoutingGoal, found: RouterPrediction, indices: Sequence[int], data: str
) -> dict[str, Any]:
    """What a router was trained from and for, and what it is predicted to certify."""
    return {
        "router_sigma": look.router_sigma,
        "sigmas": list(look.sigmas),
        "objective": goal.objective.text,
        "n": goal.n,
        "alpha": goal.alpha,
        "votes": look.logarithms.shape[1],
        "folds": FOLDS,
        "predicted": asdict(found) | {"oracle_gain": found.oracle_gain, "kept": found.kept},
        "data": data,
        "inputs": [int(index) for index in indices],
    }


def _head_graph(head: RouterHead) -> Any:
    """The head as an ONNX model from logits to scores of the experts."""
    onnx = onnx_graph.imported_onnx()
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    classes, experts = head.weights.shape
    constants: dict[str, Floats] = {
        "sharpness": np.array(head.sharpness),
        "weights": head.weights,
    }
    nodes = [
        helper.make_node("Mul", ["logits", "sharpness"], ["sharp"]),
        helper.make_node("Softmax", ["sharp"], ["said"], axis=1),
        helper.make_node("MatMul", ["said", "weights"], ["experts"]),
    ]
    ends = [
        helper.make_tensor_value_info(name, kind, ["n", size])
        for name, size in (("logits", classes), ("experts", experts))
    ]
    held = [
        onnx.numpy_helper.from_array(value.astype(np.float32), name)
        for name, value in constants.items()
    ]
    graph = helper.make_graph(nodes, "router_head", ends[:1], ends[1:], held)
    opsets = [helper.make_opsetid("", onnx_graph.OPSET)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=onnx_graph.IR_VERSION)
