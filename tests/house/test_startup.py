"""What is loaded when, and how long it takes: as ratios to the import of NumPy in one run."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

import dsrs
from dsrs.cli.main import VERBS

HEAVY = {"numpy", "scipy", "numba", "matplotlib", "torch", "onnxruntime", "PIL", "sklearn"}


def loaded_by(code: str) -> set[str]:
    """The top-level packages that a fresh interpreter has loaded after `code`."""
    report = "\nimport sys; print('LOADED', *{name.split('.')[0] for name in sys.modules})"
    done = subprocess.run(
        [sys.executable, "-c", code + report],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"DSRS_KERNELS": "auto"},
    )
    return set(done.stdout.rpartition("LOADED")[2].split())


def processor_seconds(*words: str) -> float:
    """Of a fresh interpreter, the best of three: what other programs do matters least to it."""
    best = float("inf")
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *words], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
        best = min(best, spent)
    return best


def test_import_loads_nothing_heavy() -> None:
    assert not loaded_by("import dsrs") & HEAVY


@pytest.mark.parametrize("verb", ["", *VERBS])
def test_help_loads_nothing_heavy(verb: str) -> None:
    words = [*verb.split(), "--help"]
    code = f"""
from dsrs.cli.main import main
assert main({words!r}) == 0
"""
    assert not loaded_by(code) & HEAVY


def test_a_verb_loads_no_other_verb() -> None:
    code = """
import sys
from dsrs.cli.main import VERBS, main
assert main(["radius", "--help"]) == 0
assert [verb for verb, file in VERBS.items() if f"dsrs.cli.{file}" in sys.modules] == ["radius"]
"""
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_one_certificate_needs_no_compiler() -> None:
    code = """
from dsrs.cli.main import main
main("radius --d 784 --sigma 0.5 --k 380 --p-votes 970/1000 --alpha 0.001".split())
"""
    assert "numba" not in loaded_by(code)


def without_a_home() -> dict[str, str]:
    """An environment in which nothing can be kept; not even root makes folders in /dev/null."""
    taken = ("XDG_CACHE_HOME", "DSRS_CACHE_DIR", "DSRS_KERNELS", "NUMBA_CACHE_DIR")
    kept = {name: value for name, value in os.environ.items() if name not in taken}
    return kept | {"HOME": "/dev/null", "PYTHONDONTWRITEBYTECODE": "1"}


def test_a_read_only_install_without_a_home_certifies() -> None:
    words = "radius --d 784 --sigma 0.5 --k 380 --p 0.97 0.98 --q truncated:0.8"
    words += " --q-interval 0.99 1"
    done = subprocess.run(
        [sys.executable, "-m", "dsrs", *words.split()],
        capture_output=True,
        text=True,
        check=True,
        env=without_a_home(),
    )
    assert "double sampling" in done.stdout
    assert done.stderr == ""


def test_a_read_only_install_without_a_home_takes_votes() -> None:
    """Here Numba compiles, and would look for a place beside the sources or at home."""
    before = written_beside_the_sources()
    code = """
import numpy as np
from dsrs.laws import GeneralizedGaussian
from dsrs.noise import NOISE_BLOCK, NoiseStream, Stream
out, norms = np.empty((NOISE_BLOCK, 5), np.float32), np.empty(NOISE_BLOCK)
stream = NoiseStream(Stream("p", GeneralizedGaussian(5, 0.5)), 0, 0)
stream.add_to(np.zeros(5, np.float32), 0, out, norms)
assert 0.3 < out.std() < 0.7
"""
    subprocess.run([sys.executable, "-c", code], check=True, env=without_a_home())
    assert written_beside_the_sources() == before


def written_beside_the_sources() -> set[Path]:
    return set(Path(dsrs.__file__).parent.rglob("*.nb[ci]"))


def test_help_takes_less_than_three_imports_of_numpy() -> None:
    numpy = processor_seconds("-c", "import numpy")
    assert processor_seconds("-m", "dsrs", "--help") < 3 * numpy
    assert processor_seconds("-m", "dsrs", "certify", "--help") < 3 * numpy
    assert processor_seconds("-c", "import dsrs") < numpy


def test_the_package_runs_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "dsrs", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("dsrs ")
