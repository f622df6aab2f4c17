"""One classifier for every radius: a router that chooses the noise by the input, certified.

    python examples/routing.py

Inputs are of two kinds. The class of a coarse input hangs on a wide step, which large noise leaves
as it is; that of a fine input on narrow stripes, which large noise wipes out. So small noise
certifies small radii only, and large noise no fine input at all. The router tells the kinds apart
through noise of its own, and the answer of the whole is certified. Every tenth input stands near
the router's border, where the experts agree: there the router need not be sure.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import dsrs
from dsrs.classifiers import from_callable
from dsrs.measures.routing import routed_inputs, routing_cost, routing_lines
from dsrs.smoothed.certified_run import CertifiedRun
from dsrs.store import open_run

D, STRIPE, STEP, KIND, NEAR = 16, 0.5, 1.5, 2.5, 0.3
SMALL, LARGE, ROUTER = 0.12, 1.0, 0.8
RADII = (0.0, 0.1, 0.2, 0.5, 1.0)
Batch = NDArray[np.float32]


def base(batch: Batch) -> NDArray[np.int64]:
    """Coarse inputs (first value above 0): the sign of the second; fine ones: its stripe."""
    stripes = np.floor(batch[:, 1] / STRIPE).astype(np.int64) % 2
    return np.where(batch[:, 0] > 0, (batch[:, 1] > 0).astype(np.int64), stripes)


def kind(batch: Batch) -> NDArray[np.int64]:
    """The router: 0 sends fine inputs to small noise, 1 sends coarse ones to large noise."""
    return (batch[:, 0] > 0).astype(np.int64)


def inputs(count: int, seed: int = 0) -> tuple[Batch, NDArray[np.int64]]:
    """Inputs of both kinds, in the middle of a step or of a stripe, and their classes; every tenth
    is a coarse one near the router's border."""
    generator = np.random.default_rng(seed)
    x = generator.uniform(-1, 1, (count, D)).astype(np.float32)
    near = np.arange(count) % 10 == 9
    coarse = near | (np.arange(count) % 2 == 1)
    x[:, 0] = np.where(near, NEAR, np.where(coarse, KIND, -KIND))
    stripe = generator.integers(-4, 4, count)
    x[:, 1] = np.where(coarse, STEP * generator.choice([-1, 1], count), STRIPE * (stripe + 0.5))
    return x, base(x)


def main(count: int = 40, n: int = 2000) -> None:
    bounds = (-4.0, 4.0)
    network = from_callable(base, (D,), num_classes=2, bounds=bounds, fingerprint="planted")
    router = from_callable(kind, (D,), num_classes=2, bounds=bounds, fingerprint="kinds")
    experts = [dsrs.smooth(network, sigma, n=n, seed=0, method="np") for sigma in (SMALL, LARGE)]
    routed = dsrs.RoutedClassifier(dsrs.smooth(router, ROUTER), experts, n=n, seed=0, method="np")
    x, labels = inputs(count)
    runs = {
        f"noise {SMALL:g}": experts[0].certify(x, labels, progress=False),
        f"noise {LARGE:g}": experts[1].certify(x, labels, progress=False),
        "routed": routed.certify(x, labels, progress=False),
    }
    print("certified accuracy".ljust(20) + "".join(f"r={radius:g}".rjust(8) for radius in RADII))
    for name, run in runs.items():
        print(name.ljust(20) + "".join(f"{share:8.2f}" for share in run.accuracy(RADII)))
        print(f"  mean radius {run.radii.mean():.3f}, votes {votes_of(run) / count:,.0f} an input")
    with open_run(runs["routed"].path) as opened:
        for line in routing_lines(list(opened.results()), opened.plan):
            print(line)
        times = routing_cost(opened.results(), opened.plan).times_single
        both = routed_inputs(opened.results(), opened.plan)
    assert times is not None
    assert times <= 1.3
    # The published form waits for the router alone: never more, from the same votes and alpha.
    assert all(one.radius >= one.published for one in both)


def votes_of(run: CertifiedRun) -> int:
    return sum(votes.total for result in run.results for votes in result.votes)


if __name__ == "__main__":
    main()
