"""What routing between Gaussian noises would certify, predicted from votes that certify nothing.

Of every input a `RouterLook` holds how often each expert is right under its own noise, and what one
network (the one that the router will be made from) says of the classes under the router's noise.
From these follow the radii that n votes are expected to give: s_j of the experts, e_j of a router
against expert j, and with them r = min_j max(s_j, e_j) (docs/routing.md), for every router that
is a function of what the network says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dsrs.classifiers import Classifier
from dsrs.confidence import clopper_pearson_lower, clopper_pearson_upper
from dsrs.errors import InvalidInput

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

ROUTER_STREAM = 0  # of the noise of a look; expert j has the stream j + 1


@dataclass(frozen=True, slots=True)
class RouterLook:
    """Votes on inputs that no expert was trained on.

    Args:
        sigmas: the noise of each expert.
        router_sigma: the noise of the router.
        shares: of each input and expert, the share of votes for the label, moved off 0 and 1 by
            half a vote.
        logarithms: of each input, vote and class, the logarithm of the probability that the
            network of the router gives to the class.
        labels: of each input.
    """

    sigmas: tuple[float, ...]
    router_sigma: float
    shares: Floats
    logarithms: NDArray[np.float32]
    labels: Integers

    def part(self, chosen: NDArray[np.bool_]) -> RouterLook:
        """The same for some of the inputs."""
        return replace(
            self,
            shares=self.shares[chosen],
            logarithms=self.logarithms[chosen],
            labels=self.labels[chosen],
        )

    def radii(self, n: int, alpha: float) -> Floats:
        """The radius that n votes are expected to give each input and expert."""
        lower = clopper_pearson_lower(np.floor(n * self.shares), n, alpha)
        return np.asarray(np.maximum(np.array(self.sigmas) * special.ndtri(lower), 0.0))


def look_for_router(
    experts: Sequence[tuple[Classifier, float]],
    router: tuple[Classifier, float],
    images: NDArray[np.float32],
    labels: Integers,
    votes: int,
    seed: int = 0,
) -> RouterLook:
    """Take votes of experts and of the router's network under Gaussian noise.

    Args:
        experts: models, each with its sigma.
        router: the network that the router is made from, and the router's sigma.
        images: inputs that no expert was trained on.
        labels: their classes.
        votes: of each input and model.
        seed: same seed, same votes.
    """
    if not len(images) or votes < 1:
        raise InvalidInput("a look for a router needs at least one input and one vote")
    hits = np.zeros((len(images), len(experts)))
    logarithms = np.empty((len(images), votes, router[0].num_classes), np.float32)
    for row, (image, label) in enumerate(zip(images, labels, strict=True)):
        scores = router[0].scores(_noisy(image, router[1], votes, (seed, row, ROUTER_STREAM)))
        logarithms[row] = special.log_softmax(scores, axis=1)
        for place, (model, sigma) in enumerate(experts):
            noisy = _noisy(image, sigma, votes, (seed, row, place + 1))
            hits[row, place] = np.sum(model.classify(noisy) == label)
    sigmas = tuple(sigma for _, sigma in experts)
    return RouterLook(sigmas, router[1], (hits + 0.5) / (votes + 1), logarithms, labels)


def _noisy(
    image: NDArray[np.float32], sigma: float, votes: int, key: tuple[int, ...]
) -> NDArray[np.float32]:
    noise = np.random.default_rng(key).standard_normal((votes, *image.shape), np.float32)
    return image + np.float32(sigma) * noise


@dataclass(frozen=True, slots=True)
class RoutedForecast:
    """Predicted radii of each input, of a router that answers `named`.

    `published` is the smaller form min(s_i, min_j e_j), which waits for the router alone.
    """

    radii: Floats
    published: Floats
    named: Integers


def routed_radii(look: RouterLook, answers: Integers, n: int, alpha: float) -> RoutedForecast:
    """What a router certifies with n votes of every member.

    Args:
        look: votes of the inputs.
        answers: the expert that the router names, of each input and vote.
        n: votes of the router, and of each expert.
        alpha: failure probability; half of it for the router against each rival, half for the
            rival (`methods/routed.py`).
    """
    experts, votes = len(look.sigmas), answers.shape[1]
    counts = np.stack([np.sum(answers == place, axis=1) for place in range(experts)], axis=1)
    shares = (counts + 0.5) / (votes + 0.5 * experts)
    rows, named = np.arange(len(shares)), np.argmax(shares, axis=1)
    own = np.floor(n * shares[rows, named])[:, None]
    majority = special.ndtri(clopper_pearson_lower(own, n, alpha / 2))
    lead = special.ndtri(clopper_pearson_lower(own, n, alpha / 4)) - special.ndtri(
        clopper_pearson_upper(np.ceil(n * shares), n, alpha / 4)
    )
    excluded = look.router_sigma * np.maximum(np.maximum(majority, lead / 2), 0.0)
    excluded[rows, named] = 0.0
    certified = look.radii(n, alpha / 2)
    certified[rows, named] = look.radii(n, alpha)[rows, named]
    ours = np.min(np.maximum(certified, excluded), axis=1)
    excluded[rows, named] = certified[rows, named]
    return RoutedForecast(ours, np.min(excluded, axis=1), named)
