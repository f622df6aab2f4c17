"""Draw the pictures of the README and of docs/gallery.md: `python scripts/gallery.py [FOLDER]`.

Certifies and attacks the embedded model in FOLDER (a temporary one by default), writes reports, and
takes pictures of them with Chromium. Runs that FOLDER holds already are continued.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from PIL import Image

from dsrs.reports import PALETTE, make_report, print_style, read_runs

ROOT = Path(__file__).parents[1]
FIGURES = ROOT / "docs" / "figures"
DEMO = ROOT / "src" / "dsrs" / "demo"
COLORS = 128  # of a picture of a page, so that it stays small


def dsrs(*words: str) -> None:
    subprocess.run([sys.executable, "-m", "dsrs", *words], check=True)


def take_runs(folder: Path) -> None:
    """Two runs at different noise, one of them attacked, and their pages."""
    for name, sigma in (("a", "0.5"), ("b", "0.25")):
        source = ["--model", str(DEMO / "model.onnx"), "--data", str(DEMO / "images.npz")]
        run = ["--sigma", sigma, "--n", "2000", "--output", str(folder / name), "--quiet"]
        dsrs("certify", *source, *run)
    dsrs("attack", str(folder / "a"), "--quiet")
    both = [f"wide={folder / 'a'}", f"narrow={folder / 'b'}"]
    dsrs("report", *both, "--title", "Fashion-MNIST demo", "--output", str(folder / "report.html"))
    one = [f"wide={folder / 'a'}", "--title", "Fashion-MNIST demo"]
    dsrs("report", *one, "--output", str(folder / "attacked.html"))


def draw_bracket(folder: Path) -> None:
    """What is proved below, what is proved above, and what nobody knows between."""
    (gap,) = make_report(read_runs([str(folder / "a")])).series.gaps
    radius = np.array(gap.radius)
    below, above = (100 * np.array(share) for share in (gap.certified, gap.attacked))
    with print_style():
        figure = Figure(figsize=(7, 3))
        axes = figure.subplots()
        axes.fill_between(radius, 0, below, step="pre", color=PALETTE[0], alpha=0.35, linewidth=0)
        axes.fill_between(radius, above, 100, step="pre", color=PALETTE[1], alpha=0.2, linewidth=0)
        axes.step(radius, below, where="pre", color=PALETTE[0])
        axes.step(radius, above, where="pre", color=PALETTE[1])
        axes.text(0.05, 28, "certified: no change\nof this length\nchanges the answer", fontsize=9)
        axes.text(1.9, 12, "not known", fontsize=9)
        attacked = (
            "refuted: a change of this length was proved\n"
            "to change the answer, or it was wrong anyway"
        )
        axes.text(1.45, 78, attacked, fontsize=9)
        axes.set(xlim=(0, float(radius[-1])), ylim=(0, 100))
        axes.set_xlabel(r"$\ell_2$ length of the change of the image (pixels are from 0 to 1)")
        axes.set_ylabel("images of the demo (%)")
        figure.savefig(FIGURES / "bracket.png", dpi=150)


def picture(
    page: Path, name: str, width: int, height: int, *, top: int = 0, dark: bool = False
) -> None:
    """A picture of a page, from `top` on."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        raise SystemExit("pictures of pages need chromium")
    taken = page.with_suffix(".png")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    options += ["--blink-settings=preferredColorScheme=0"] if dark else []
    size = f"--window-size={width},{top + height}"
    subprocess.run(
        [browser, *options, size, f"--screenshot={taken}", page.resolve().as_uri()],
        check=True,
        capture_output=True,
    )
    with Image.open(taken) as image:
        cut = image.convert("RGB").crop((0, top, width, top + height))
        cut.quantize(COLORS, Image.Quantize.MAXCOVERAGE).save(FIGURES / name, optimize=True)


def main(folder: Path) -> None:
    take_runs(folder)
    draw_bracket(folder)
    picture(folder / "report.html", "page.png", 1280, 1000)
    picture(folder / "report.html", "page-figures.png", 1280, 980, top=1890)
    picture(folder / "attacked.html", "page-phone.png", 375, 800, dark=True)
    picture(folder / "attacked.html", "page-inputs.png", 1280, 760, top=2845)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(Path(temporary))
