"""Routers that are learnt: from what a network says of the classes under the router's noise.

A router that is asked which inputs are hard collapses to one expert: to certify a large radius it
must be as sure of its answer as the expert is of the class, and no small gain elsewhere pays for
doubt there (docs/routing.md has the measurements). A router that asks for the class does not
have this fault: if the classes of a set B go to one expert, the router is at least as sure of B as
the network is of the class, under the same noise. So a router here starts as a table from class
to expert, and its weights are then moved uphill in the predicted radius itself.

A router's scores of the experts are softmax(sharpness * logits) @ weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dsrs.errors import imported
from dsrs.routing.forecast import Floats, Integers, RoutedForecast, RouterLook, routed_radii
from dsrs.tuning import Objective

TABLE_SHARPNESS = 64.0  # softmax is nearly the argmax: one class, one expert
START_WEIGHT = 4.0
WEIGHT_STEPS, WEIGHT_RATE = 120, 0.3
TRAINING_VOTES = 64  # of each input, for the gradient
VOTE_SHARPNESS = 3.0  # how nearly soft answers are votes
ASCENT_SWEEPS = 4


@dataclass(frozen=True, slots=True)
class RoutingGoal:
    """What a router is learnt for: an objective, and the votes and alpha of its certificates."""

    objective: Objective
    n: int
    alpha: float

    def forecast(self, look: RouterLook, head: RouterHead) -> RoutedForecast:
        """What a router would certify."""
        return routed_radii(look, head.answers(look), self.n, self.alpha)


@dataclass(frozen=True, slots=True)
class RouterHead:
    """The last layer of a router: from the logits of a network to the scores of the experts."""

    sharpness: float
    weights: Floats  # a row for each class, a column for each expert

    def answers(self, look: RouterLook) -> Integers:
        """The expert that it names, of each input and vote."""
        said = special.softmax(self.sharpness * look.logarithms.astype(np.float64), axis=2)
        return np.asarray(np.argmax(said @ self.weights, axis=2))


def table_head(look: RouterLook, goal: RoutingGoal) -> RouterHead:
    """The table from class to expert with the largest predicted value, by coordinate ascent.

    It starts from the best single expert, and from the best expert of each class.
    """
    classes, experts = look.logarithms.shape[2], len(look.sigmas)
    single = np.full(classes, best_expert(look, goal))
    said = np.argmax(look.logarithms, axis=2)

    def value(table: Integers) -> float:
        return goal.objective.of(routed_radii(look, table[said], goal.n, goal.alpha).radii)

    tables = [_ascended(start, experts, value) for start in (single, class_table(look, goal))]
    return RouterHead(TABLE_SHARPNESS, np.eye(experts)[max(tables, key=value)])


def _ascended(table: Integers, experts: int, value: Callable[[Integers], float]) -> Integers:
    best = value(table)
    for _ in range(ASCENT_SWEEPS):
        before = best
        for place in range(len(table)):
            for expert in range(experts):
                other = table.copy()
                other[place] = expert
                if expert != table[place] and (found := value(other)) > best:
                    best, table = found, other
        if best == before:
            break
    return table


def class_table(look: RouterLook, goal: RoutingGoal) -> Integers:
    """Of each class the expert whose radii are best on the inputs of that class."""
    values = goal.objective.by_input(look.radii(goal.n, goal.alpha))
    table = np.full(look.logarithms.shape[2], best_expert(look, goal))
    for label in np.unique(look.labels):
        table[label] = np.argmax(values[look.labels == label].mean(axis=0))
    return table


def best_expert(look: RouterLook, goal: RoutingGoal) -> int:
    """The expert that certifies most alone."""
    return int(np.argmax(goal.objective.by_input(look.radii(goal.n, goal.alpha)).mean(axis=0)))


def weighted_head(look: RouterLook, goal: RoutingGoal) -> RouterHead:
    """Weights that climb in the predicted value, from the best expert of each class.

    The predicted radius r = min_j max(s_j, e_j) is continuous in the router's shares, also where
    the named expert changes, so its gradient is taken as it is; votes are replaced by soft ones.
    """
    torch = imported("torch", "train")
    experts = len(look.sigmas)
    start = START_WEIGHT * np.eye(experts)[class_table(look, goal)]
    weights = torch.tensor(start, dtype=torch.float32, requires_grad=True)
    said = torch.exp(torch.from_numpy(look.logarithms[:, :TRAINING_VOTES]))
    radii = torch.tensor(look.radii(goal.n, goal.alpha), dtype=torch.float32)
    least = 0.5 / (look.logarithms.shape[1] + 0.5 * experts)  # no share is known to be smaller
    optimizer = torch.optim.Adam([weights], lr=WEIGHT_RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, WEIGHT_STEPS)
    for _ in range(WEIGHT_STEPS):
        soft = torch.softmax(VOTE_SHARPNESS * (said @ weights), dim=2).mean(dim=1)
        shares = soft.clamp(least, 1 - least)
        scores = torch.special.ndtri(shares)
        named = shares.argmax(dim=1, keepdim=True)
        excluded = look.router_sigma / 2 * (scores.gather(1, named) - scores)
        routed = torch.maximum(radii, excluded).min(dim=1).values
        target = goal.objective.radius
        # Accuracy at a radius, made smooth over a tenth of the router's noise.
        value = (
            routed
            if target is None
            else torch.sigmoid((routed - target) / (0.1 * look.router_sigma))
        )
        optimizer.zero_grad()
        (weights.grad,) = torch.autograd.grad(-value.mean(), [weights])
        optimizer.step()
        schedule.step()
    return RouterHead(1.0, weights.detach().numpy().astype(np.float64))


# The ways to learn a router; the first of equals is taken.
LEARNERS: dict[str, Callable[[RouterLook, RoutingGoal], RouterHead]] = {
    "table": table_head,
    "weights": weighted_head,
}


def on_other_inputs(
    learner: str, look: RouterLook, goal: RoutingGoal, folds: int
) -> RoutedForecast:
    """What routers of this learner certify on inputs that they did not learn from.

    Every input is forecast by the router that was learnt from the other folds.
    """
    size = len(look.labels)
    fold: NDArray[np.int64] = np.arange(size) % folds
    radii, published = np.zeros(size), np.zeros(size)
    named = np.zeros(size, np.int64)
    for place in range(folds):
        held = fold == place
        head = LEARNERS[learner](look.part(~held), goal)
        found = goal.forecast(look.part(held), head)
        radii[held], published[held], named[held] = found.radii, found.published, found.named
    return RoutedForecast(radii, published, named)
