"""How many votes it takes to know an answer: looks with parts of alpha, and a mixture martingale.

    python benchmarks/fewest_votes.py take MODEL DATA votes.npz    real votes, once
    python benchmarks/fewest_votes.py compare votes.npz            every scheme on the same streams

`take` runs the model on every 100th test image under Gaussian noise (sigma 0.7) and keeps which of
20,000 votes hit the label. `compare` draws streams of up to 100,000 votes from the shares of these
votes, (hits + 1/2) / (votes + 1): what is compared is the stopping, not the model. All schemes see
the same streams, may stop after every 64 votes at most, and give up by the same rule (goals.py).

The mixture: for p' uniform on (q, 1] the likelihood ratio of p' against q, averaged, is a
supermartingale under every p <= q, so it exceeds 1/alpha at any time with probability alpha at
most (Ville). It is a test of p <= q at every number of votes, without looks or their shares.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from dsrs.confidence import clopper_pearson_lower, clopper_pearson_upper
from dsrs.methods import GIVING_UP
from dsrs.noise import Stream

SIGMA, ALPHA, MOST, BATCH = 0.7, 0.001, 100_000, 64
RADII = (0.25, 0.5, 1.0, 1.5, 2.0, 2.5)
TABLE = tuple(0.25 * i for i in range(1, 13))
RECORDED = 20_000


@dataclass(frozen=True)
class Scheme:
    """When one looks, and from how many hits on p > q is known at each look.

    `futility` is what goals.py calls GIVING_UP: how unlikely an answer is that is given up.
    """

    name: str
    looks: tuple[int, ...]
    hits_needed: Callable[[int, float], int]  # (number of the look, q)
    futility: float = GIVING_UP


def spending(growth: float, last_share: float, first: int, *, shape: str = "equal") -> Scheme:
    """Looks that grow, the last with its share of alpha, the rest shared out among the others."""
    ends, end = [], first
    while end < MOST:
        ends.append(end)
        end = max(end + BATCH, math.ceil(end * growth / BATCH) * BATCH)
    weights = np.ones(len(ends)) if shape == "equal" else np.arange(1, len(ends) + 1.0)
    shares = [*(ALPHA * (1 - last_share) * weights / weights.sum()), ALPHA * last_share]
    looks = (*ends, MOST)

    def needed(look: int, q: float) -> int:
        return fewest_hits(
            lambda h: clopper_pearson_lower(h, looks[look], shares[look]) >= q, looks[look]
        )

    return Scheme(f"looks x{growth:g} from {first}, last {last_share:g}, {shape}", looks, needed)


def mixture() -> Scheme:
    """The mixture martingale, looked at as often as a batch ends (every 2% further on)."""
    ends, end = [], BATCH
    while end < MOST:
        ends.append(end)
        end = max(end + BATCH, math.ceil(end * 1.02 / BATCH) * BATCH)
    looks = (*ends, MOST)

    def rejects(h: int, n: int, q: float) -> bool:
        if h <= n * q:
            return False
        evidence = (
            special.betaln(h + 1, n - h + 1)
            + stats.beta.logsf(q, h + 1, n - h + 1)
            - math.log1p(-q)
            - special.xlogy(h, q)
            - special.xlog1py(n - h, -q)
        )
        return bool(evidence >= -math.log(ALPHA))

    def needed(look: int, q: float) -> int:
        return fewest_hits(lambda h: rejects(h, looks[look], q), looks[look])

    return Scheme("mixture martingale", looks, needed)


def fewest_hits(enough: Callable[[int], bool], votes: int) -> int:
    """The least count that is enough; votes + 1 if none is."""
    low, high = -1, votes + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


@lru_cache(maxsize=100_000)
def futile_below(votes: int, needed: int, futility: float) -> int:
    """Below this many hits, the count that is needed at the end is out of reach (goals.py)."""

    def may_reach(hits: int) -> bool:
        missing, left = needed - hits, MOST - votes
        if missing <= 0:
            return True
        most = clopper_pearson_upper(hits, votes, futility)
        return missing <= left and float(stats.binom.sf(missing - 1, left, most)) > futility

    return fewest_hits(may_reach, votes)


@cache
def boundaries(scheme: Scheme, q: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Known from so many hits on, given up below so many, at each look."""
    needed = np.array([scheme.hits_needed(look, q) for look in range(len(scheme.looks))])
    futile = np.array(
        [futile_below(votes, int(needed[-1]), scheme.futility) for votes in scheme.looks]
    )
    return needed, futile


def run(
    scheme: Scheme, streams: NDArray[np.int64], radii: tuple[float, ...]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Votes taken for each stream, and how many of the radii, in order, were proved."""
    bounds = [boundaries(scheme, float(special.ndtr(radius / SIGMA))) for radius in radii]
    votes = np.full(len(streams), MOST)
    proved = np.zeros(len(streams), dtype=np.int64)
    going = np.ones(len(streams), dtype=bool)
    for look, end in enumerate(scheme.looks):
        hits = streams[:, end - 1]
        reached = sum((hits >= needed[look]).astype(np.int64) for needed, _ in bounds)
        proved[going] = np.maximum(proved, reached)[going]
        ahead = np.minimum(proved, len(radii) - 1)
        futile = np.array([bound[1][look] for bound in bounds])[ahead]
        over = going & ((proved == len(radii)) | (hits < futile))
        votes[over] = end
        going &= ~over
    return votes, proved


def compare(path: Path, repeats: int) -> None:
    recorded = np.load(path)["hits"]
    total = recorded.shape[1]
    shares = (recorded.sum(axis=1) + 0.5) / (total + 1)
    print(f"{len(shares)} inputs, {total} votes each; {repeats} streams of {MOST} votes an input\n")
    schemes = [
        spending(1.15, 0.6, BATCH),
        spending(1.15, 0.6, 192),
        spending(1.3, 0.6, BATCH),
        spending(2.0, 0.6, BATCH),
        spending(1.15, 0.4, BATCH),
        spending(1.15, 0.8, BATCH),
        spending(1.15, 0.6, BATCH, shape="rising"),
        mixture(),
    ]
    schemes += [
        replace(schemes[0], futility=futility, name=f"the first, giving up at {futility:g}")
        for futility in (0.001, 0.05)
    ]
    fixed = [hits_of_fixed_plan(radius) for radius in TABLE]
    by_radius: dict[str, list[list[float]]] = {scheme.name: [] for scheme in schemes}
    lost: dict[str, list[list[float]]] = {scheme.name: [] for scheme in schemes}
    for seed in range(repeats):
        generator = np.random.default_rng(seed)
        streams = np.cumsum(
            generator.random((len(shares), MOST)) < shares[:, None], axis=1, dtype=np.int32
        )
        certified = [(streams[:, -1] >= needed).sum() for needed in fixed]
        for scheme in schemes:
            votes, lower = [], []
            for radius in RADII:
                taken, proved = run(scheme, streams, (radius,))
                votes.append(float(taken.mean()))
                lower.append(float(certified[TABLE.index(radius)] - proved.sum()))
            taken, proved = run(scheme, streams, TABLE)
            votes.append(float(taken.mean()))
            lower.append(max(float(c - (proved > i).sum()) for i, c in enumerate(certified)))
            by_radius[scheme.name].append(votes)
            lost[scheme.name].append(lower)
    heads = [*(f"R={radius:g}" for radius in RADII), "table"]
    print("times fewer votes; in brackets the inputs that are certified less, mean of all streams")
    print(f"{'':46s}" + "".join(f"{head:>15s}" for head in heads))
    for scheme in schemes:
        means = np.mean(by_radius[scheme.name], axis=0)
        lower = np.mean(lost[scheme.name], axis=0)
        cells = [
            f"{MOST / mean:.1f} ({less:+.2f})" for mean, less in zip(means, -lower, strict=True)
        ]
        print(f"{scheme.name:46s}" + "".join(f"{cell:>15s}" for cell in cells))
    print("\nmean radius with the whole budget spent, against the fixed plan")
    hits = np.round(shares * MOST).astype(int)
    whole = np.array([radius_of(clopper_pearson_lower(int(h), MOST, ALPHA)) for h in hits])
    for scheme in schemes:
        if scheme.name.startswith("the first"):
            continue
        if scheme.name.startswith("looks"):
            share = float(scheme.name.split("last ")[1].split(",")[0])
            radii = [radius_of(clopper_pearson_lower(int(h), MOST, ALPHA * share)) for h in hits]
        else:
            last = len(scheme.looks) - 1
            radii = [radius_of(largest_rejected(scheme, last, int(h))) for h in hits]
        print(f"{scheme.name:46s}{100 * (np.mean(radii) / whole.mean() - 1):+.2f}%")


def hits_of_fixed_plan(radius: float) -> int:
    q = float(special.ndtr(radius / SIGMA))
    return fewest_hits(lambda hits: clopper_pearson_lower(hits, MOST, ALPHA) >= q, MOST)


def largest_rejected(scheme: Scheme, look: int, hits: int) -> float:
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if scheme.hits_needed(look, middle) <= hits else (low, middle)
    return low


def radius_of(lower: float) -> float:
    return max(0.0, SIGMA * float(special.ndtri(lower)))


def take(model: str, data: str, output: Path) -> None:
    """Which of the first votes hit the label, in their order."""
    from dsrs.classifiers import load_classifier
    from dsrs.datasets import load_dataset
    from dsrs.laws import GeneralizedGaussian
    from dsrs.votes import Setting, WorkUnit, count_votes

    dataset = load_dataset(data, "test", bounds=(0.0, 1.0))
    classifier = load_classifier(model, input_shape=dataset.input_shape, bounds=(0.0, 1.0))
    law = GeneralizedGaussian(math.prod(dataset.input_shape), SIGMA)
    setting = Setting(0, 256)
    rows = []
    for index in range(0, len(dataset), 100):
        recording = Recording(classifier)
        unit = WorkUnit(index, Stream("estimation", law), 0, RECORDED)
        count_votes(recording, dataset.input(index), setting, unit)
        rows.append(np.concatenate(recording.classes)[:RECORDED] == dataset.label(index))
        print(f"input {index}: {rows[-1].mean():.4f}", flush=True)
    np.savez_compressed(output, hits=np.array(rows))


class Recording:
    """A classifier that remembers what it said."""

    def __init__(self, classifier: object) -> None:
        self._classifier = classifier
        self.classes: list[NDArray[np.int64]] = []

    def __getattr__(self, name: str) -> object:
        return getattr(self._classifier, name)

    def classify(self, rows: NDArray[np.float32]) -> NDArray[np.int64]:
        self.classes.append(self._classifier.classify(rows))  # type: ignore[attr-defined]
        return self.classes[-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    taking = verbs.add_parser("take")
    for name in ("model", "data"):
        taking.add_argument(name)
    taking.add_argument("votes", type=Path)
    comparing = verbs.add_parser("compare")
    comparing.add_argument("votes", type=Path)
    comparing.add_argument("--repeats", type=int, default=10)
    arguments = parser.parse_args()
    if arguments.verb == "take":
        take(arguments.model, arguments.data, arguments.votes)
    else:
        compare(arguments.votes, arguments.repeats)


if __name__ == "__main__":
    main()
