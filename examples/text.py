"""Certify a classifier of short texts, with noise on the vectors of their words.

    python examples/text.py --output runs/text

A text is no vector, so there is no noise to add to it. What has one is the embedding: a sentence of
8 words is 8 vectors of 8 numbers. The example trains vectors and a classifier on sentences that it
makes itself (some seconds), then certifies new sentences with noise on their 64 numbers.

What a certificate says, and what it does not:

- It is about a ball in embedding space: however the 8 vectors are moved, all together by at most
  the radius (l2), the smoothed answer stays.
- Another word in the place of one is covered exactly if the distance of the two words' vectors is
  at most the radius. The example counts these replacements: the smoothed answer survives each of
  them (a certificate is false with probability alpha at most).
- It says nothing of words that are farther away, nor of words that are put in or left out, which
  move all vectors behind them. It is no statement about all texts of the same meaning.
- The radius is in units of these vectors. Their numbers are held in [-1, 1] by a tanh; without
  such a limit the training could make any radius by making the vectors longer.

Needs `pip install 'dsrs[torch]'`, nothing is fetched.
"""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from dsrs.cli.main import main as dsrs
from dsrs.measures import floor_text
from dsrs.store import open_run

WORDS, SIZE = 8, 8  # words of a sentence, numbers of a vector
SIGMA = 0.5
GOOD = (
    *("brilliant", "charming", "delightful", "excellent", "lovely"),
    *("moving", "splendid", "superb", "touching", "witty"),
)
BAD = (
    *("awful", "boring", "clumsy", "dreadful", "dull"),
    *("hollow", "lazy", "painful", "stale", "tedious"),
)
THINGS = (
    *("acting", "camera", "dialogue", "ending", "film"),
    *("music", "plot", "scene", "script", "story"),
)
OTHERS = ("and", "but", "so", "the", "this", "was", "felt", "quite", "rather", "truly")
VOCABULARY = sorted({*GOOD, *BAD, *THINGS, *OTHERS})


def sentences(count: int, seed: int) -> tuple[list[list[str]], NDArray[np.int64]]:
    """Reviews of 8 words, such as `the plot was dull and the music lazy`: class 1 is praise."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, count)

    def review(praise: int) -> list[str]:
        first, second = rng.choice(GOOD if praise else BAD, 2)
        thing, other = rng.choice(THINGS, 2)
        verb, link = rng.choice(["was", "felt"]), rng.choice(["and", "so"])
        return [str(word) for word in ("the", thing, verb, first, link, "the", other, second)]

    return [review(int(label)) for label in labels], labels


class Head(nn.Module):
    """What is certified: classes from the vectors of 8 words, `--model examples/text.py:Head`."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(WORDS * SIZE, 32), nn.ReLU(), nn.Linear(32, 2))

    def forward(self, vectors: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.layers(vectors)
        return logits


class Reader(nn.Module):
    """The vectors of the words, and the head behind them."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(len(VOCABULARY), SIZE)
        self.head = Head()

    def vectors(self, texts: list[list[str]]) -> torch.Tensor:
        """Sentences as (n, 64) numbers in [-1, 1]."""
        numbers = torch.tensor([[VOCABULARY.index(word) for word in text] for text in texts])
        return torch.tanh(self.table(numbers)).flatten(1)


def trained(steps: int = 400) -> Reader:
    """A reader that was trained under the noise of the certificates."""
    torch.manual_seed(0)
    reader = Reader()
    optimizer = torch.optim.Adam(reader.parameters(), lr=0.01)
    texts, labels = sentences(512, seed=1)
    for _ in range(steps):
        clean = reader.vectors(texts)
        logits = reader.head(clean + SIGMA * torch.randn_like(clean))
        loss = nn.functional.cross_entropy(logits, torch.from_numpy(labels))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return reader.eval()


def command(output: Path, votes: int) -> list[str]:
    """What a person would type."""
    model = ["--model", f"{Path(__file__)}:Head", "--weights", str(output / "head.pth")]
    data = ["--data", str(output / "vectors.npz"), "--bounds", "-1", "1"]
    names = ["--class-names", "criticism,praise"]
    noise = ["--sigma", str(SIGMA), "--n", str(votes), "--q", "none"]
    return ["certify", *model, *data, *names, *noise, "--output", str(output / "run")]


def replacements(
    table: NDArray[np.float64], text: list[str], radius: float
) -> list[tuple[str, str]]:
    """Pairs of a word of the sentence and another one whose vector is within the radius."""
    found = []
    for word in text:
        away = np.linalg.norm(table - table[VOCABULARY.index(word)], axis=1)
        near = [other for other, far in zip(VOCABULARY, away, strict=True) if 0 < far <= radius]
        found += [(word, other) for other in near]
    return found


def conclusion(output: Path, reader: Reader, texts: list[list[str]]) -> str:
    """How many replacements of one word the certificates cover."""
    table = torch.tanh(reader.table.weight).detach().double().numpy()
    with open_run(output / "run") as run:
        radii = {one.index: one.certificates["np"].radius for one in run.results()}
    covered = {index: replacements(table, texts[index], radius) for index, radius in radii.items()}
    index = max(covered, key=lambda each: len(covered[each]))
    every = len(radii) * WORDS * (len(VOCABULARY) - 1)
    held = sum(map(len, covered.values()))
    lines = [
        f"{held:,} of {every:,} replacements of one word by another are inside a certified ball:",
        f"  {' '.join(texts[index])!r} (radius {floor_text(radii[index], 3)}) keeps its class with",
    ]
    pairs = sorted(set(covered[index]))[:6]
    lines += [f"    {other} instead of {word}" for word, other in pairs] or ["    no other word"]
    lines.append("words that are farther away, put in or left out are not covered")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("runs/text"))
    parser.add_argument("--votes", type=int, default=10_000, help="votes for each sentence")
    parser.add_argument("--sentences", type=int, default=50, help="sentences to certify")
    chosen = parser.parse_args(arguments)
    chosen.output.mkdir(parents=True, exist_ok=True)
    reader = trained()
    texts, labels = sentences(chosen.sentences, seed=2)
    vectors: Any = reader.vectors(texts).detach().numpy()
    np.savez(chosen.output / "vectors.npz", x=vectors, y=labels)
    torch.save(reader.head.state_dict(), chosen.output / "head.pth")
    words = command(chosen.output, chosen.votes)
    print(f"$ dsrs {shlex.join(words)}", flush=True)
    if dsrs(words):
        return 1
    print(conclusion(chosen.output, reader, texts))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
