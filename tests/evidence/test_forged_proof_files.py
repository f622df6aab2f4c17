"""Proof files that were changed by hand: mutants, random bytes, and a checker without python-flint.

`mutants.py` says which changes claim more than the votes show, kind by kind.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conformal.planted import at_origin, half_space
from dsrs.conformal import SetPlan, calibrate
from dsrs.evidence import check_file, evidence_of
from dsrs.evidence.checking import checker_path
from dsrs.laws import GeneralizedGaussian, Grid
from dsrs.methods import Plan
from evidence.conftest import Runs
from evidence.honest_runs import honest_evidence
from evidence.mutants import KINDS, Lines, certificates
from evidence.small_runs import checker, is_proved, lines_of, text_of, verdicts
from methods.simulation import Profile, simulate_input

WIDE, PLAIN = GeneralizedGaussian(3072, 0.5, 1530), GeneralizedGaussian(784, 0.5)
GRID = Grid(1 / 4080)
SURE, GOOD = (0.0, 1.0, 0.0), (0.01, 0.96, 0.03)
CLOSE = (0.25, 0.48, 0.27)  # leads, without a majority
# Every kind of bound and of proof; the votes are simulated.
SOURCES: dict[str, tuple[Plan, tuple[float, float, float]]] = {
    "np": (Plan(WIDE, ("np",), n=1000, grid=None), GOOD),
    "gaussian": (Plan(PLAIN, ("np",), n=1000, grid=GRID), GOOD),
    "other shape": (
        Plan(GeneralizedGaussian(64, 0.5, 0.0, 4.0), ("np",), n=1000, grid=None), GOOD,
    ),
    "rescaled": (Plan(WIDE, ("np", "rescaled:0.8x"), n=1000, grid=GRID), GOOD),
    "fall-back": (Plan(WIDE, ("rescaled:0.8x",), n=1000, grid=None, fallback=True), SURE),
    "looks": (Plan(PLAIN, ("np",), n=4000, grid=None, radius=0.6), GOOD),
    "precision": (Plan(PLAIN, ("np",), n=4000, grid=GRID, precision=0.1), GOOD),
    "family": (Plan(PLAIN, ("np",), n=1000, grid=None).for_all_of(2, 0.01), GOOD),
    "leading": (
        Plan(PLAIN, ("np",), n=4000, grid=GRID, classes="all", target="predicted"), CLOSE,
    ),
    "leading double": (
        Plan(WIDE, ("rescaled:0.8x",), n=4000, grid=None, classes="all", target="predicted"),
        CLOSE,
    ),
    "tailored": (Plan(WIDE, ("tailored",), n=4000, grid=None), GOOD),
    "truncated": (Plan(WIDE, ("truncated:0.6",), n=4000, grid=None), GOOD),
}  # fmt: skip
SLOW = ("tailored", "truncated", "leading double", "other shape")


def simulated(name: str, folder: Path, seed: int = 0) -> Lines:
    """The proof file of an honest run; what cannot be proved in it would say nothing here."""
    plan, shares = SOURCES[name]
    generator = np.random.default_rng(seed)
    profile = Profile(np.repeat(np.array(shares)[:, None], 64, axis=1))
    votes = [
        simulate_input(plan, profile, index, 1, generator)
        for index in range(2 if plan.family_size else 1)
    ]
    return lines_of(honest_evidence(folder / "run", plan, votes))


def sets_lines(**options: Any) -> Lines:
    plan = SetPlan(GeneralizedGaussian(2, 1.0), options.pop("radius", 0.5), **options)
    return lines_of(evidence_of(calibrate(half_space(), at_origin(60), plan, seed=3)))


def attack_lines(shows: str, of: str, grid: float | None = None) -> Lines:
    """Votes that show it with a third of alpha."""
    noise = {"d": 784, "sigma": 0.5, "k": 0.0, "eta": 2.0}
    plan: Any = {"plan": "p", "about": {}, "noise": noise, "grid": grid, "alpha": 0.001}
    attack: Any = {
        "plan": "p", "attack": 3, "method": "np", "class": 1, "distance": 0.7,
        "points": [0.0004, 0.0003], "point": 1, "rival": 2, "counts": [50, 700, 1300],
        "shows": shows, "of": of,
    }  # fmt: skip
    head = {"format": "dsrs-proof-1", "about": {}}
    return [head, plan | {"methods": {}}, attack]


def accepted(lines: Lines, generator: np.random.Generator) -> tuple[Counter[str], list[str]]:
    """How many mutants of each kind there are, and which of them are proved."""
    made: Counter[str] = Counter()
    wrong = []
    for kind, mutate in KINDS.items():
        for mutant in mutate(lines, generator):
            made[kind] += 1
            if is_proved(text_of(mutant)):
                changed = [new for old, new in zip(lines, mutant, strict=False) if old != new]
                wrong.append(f"{kind}: {json.dumps(changed)[:600]}")
    return made, wrong


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in SOURCES],
)
def test_no_mutant_of_a_run_is_proved(name: str, tmp_path: Path) -> None:
    lines = simulated(name, tmp_path)
    assert list(certificates(lines))
    assert is_proved(text_of(lines)), [str(each) for each in verdicts(text_of(lines))]
    made, wrong = accepted(lines, np.random.default_rng(0))
    print(name, dict(made), sum(made.values()))
    assert sum(made.values()) > 50
    assert wrong == []


@pytest.mark.parametrize(
    "lines",
    [
        lambda: sets_lines(), lambda: sets_lines(draws=3, radius=0.1),
        lambda: sets_lines(confidence=0.9, radius=0.1), lambda: sets_lines(grid=None),
        lambda: sets_lines(confidence=0.9, calibration_draws=3, radius=0.0, coverage=0.8),
        lambda: attack_lines("majority lost", "majority"),
        lambda: attack_lines("answer changed", "lead"),
        lambda: attack_lines("answer changed", "majority", 1 / 4080),
    ],
)  # fmt: skip
def test_no_mutant_of_prediction_sets_or_of_an_attack_is_proved(lines: Any) -> None:
    honest = lines()
    assert is_proved(text_of(honest)), verdicts(text_of(honest))
    made, wrong = accepted(honest, np.random.default_rng(0))
    assert made["sets"] + made["attacks"] > 10
    assert wrong == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["np", "gaussian", "rescaled", "looks", "leading", "fall-back"])
def test_no_mutant_of_further_runs_is_proved(name: str, tmp_path: Path) -> None:
    for seed in range(1, 4):
        lines = simulated(name, tmp_path / str(seed), seed)
        assert is_proved(text_of(lines))
        _, wrong = accepted(lines, np.random.default_rng(seed))
        assert wrong == []


# --------------------------------------------------------------------------------- random bytes


def edited(content: bytes, generator: np.random.Generator) -> bytes:
    """A few bytes of a file replaced, dropped, doubled, or moved."""
    found = bytearray(content)
    for _ in range(int(generator.integers(1, 4))):
        place = int(generator.integers(len(found)))
        way = int(generator.integers(5))
        if way == 0:
            found[place] = int(generator.integers(256))
        elif way == 1:
            found[place] = int(generator.choice(list(b'0123456789.-eE"[]{},: \n')))
        elif way == 2:
            del found[place : place + int(generator.integers(1, 20))]
        elif way == 3:
            end = place + int(generator.integers(1, 20))
            found[place:place] = found[place:end]
        else:
            found[place:place] = str(
                generator.choice(
                    ["1e999", "NaN", "null", "-", "9" * 400, "true", '"inf"', "\\ud800"]
                )
            ).encode()
    return bytes(found)


def outcome_of(content: bytes) -> dict[str, bool] | None:
    """What is proved, by its name; None where the file is refused. Nothing else may happen."""
    try:
        return {each.name: bool(each) for each in verdicts(content)}
    except checker().Unreadable:
        return None


@pytest.mark.parametrize(
    "count", [300, pytest.param(2000, marks=pytest.mark.slow)], ids=["few", "many"]
)
@pytest.mark.parametrize("name", ["gaussian", "family", "looks", "leading", "sets"])
def test_random_bytes_end_in_a_verdict(name: str, count: int, tmp_path: Path) -> None:
    """Whatever is proved of an edited file still has radii that the votes in it show, or nothing of
    its meaning was changed; most edits are refused."""
    lines = sets_lines() if name == "sets" else simulated(name, tmp_path)
    content = text_of(lines).encode()
    generator = np.random.default_rng(count)
    same = 0
    for _ in range(count):
        found = outcome_of(edited(content, generator))
        same += bool(found) and all(found.values())  # type: ignore[union-attr]
    assert same < 0.5 * count


# ---------------------------------------------------------------- alone, and without python-flint


def test_the_process_of_the_checker_loads_nothing_but_python_and_flint(
    tmp_path: Path, runs: Runs
) -> None:
    """As `check_file` starts it: isolated, with the file alone."""
    path = tmp_path / "proof.jsonl"
    path.write_text(evidence_of(runs("np")).text())
    assert check_file(path)
    program = (
        "import runpy, sys; sys.argv = sys.argv[1:]\n"
        "try:\n    runpy.run_path(sys.argv[0], run_name='__main__')\n"
        "except SystemExit:\n    pass\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)"
    )
    command = [sys.executable, "-I", "-c", program, str(checker_path()), str(path), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = set(done.stderr.split())
    assert "flint" in loaded
    assert not loaded & {"dsrs", "numpy", "scipy", "numba", "torch", "pandas"}


@pytest.fixture(scope="module")
def without_flint() -> Any:
    """The checker as it is where python-flint is not installed."""
    import importlib.util

    hidden = {name: module for name, module in sys.modules.items() if name == "flint"
              or name.startswith("flint.")}  # fmt: skip
    for name in hidden:
        del sys.modules[name]
    sys.modules["flint"] = None  # type: ignore[assignment]
    try:
        spec = importlib.util.spec_from_file_location("checker_without_flint", checker_path())
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["checker_without_flint"] = module
        spec.loader.exec_module(module)
    finally:
        del sys.modules["flint"]
        sys.modules.update(hidden)
    return module


def gaussian_lines(folder: Path, seed: int, inputs: int) -> Lines:
    """Neyman-Pearson for the Gaussian: on a grid or not, at one look or at many."""
    generator = np.random.default_rng(seed)
    law = GeneralizedGaussian(int(generator.choice([16, 784, 3072])), 0.5)
    grid = GRID if seed % 2 else None
    radius = 0.4 if seed % 3 == 0 else None
    n = int(generator.integers(200, 20_000))
    plan = Plan(law, ("np",), n=n, grid=grid, radius=radius)
    votes = []
    for index in range(inputs):
        hits = 1 - 10 ** generator.uniform(-4, -0.8)
        profile = Profile.of_two(np.full(64, hits))
        votes.append(simulate_input(plan, profile, index, 1, generator))
    return lines_of(honest_evidence(folder / str(seed), plan, votes))


@pytest.mark.parametrize(
    ("runs_made", "most"), [(3, 40), pytest.param(30, 10**6, marks=pytest.mark.slow)]
)
def test_both_ways_agree_on_gaussian_certificates_and_on_their_mutants(
    runs_made: int, most: int, tmp_path: Path, without_flint: Any
) -> None:
    assert without_flint.ctx is None
    honest = tried = 0
    for seed in range(runs_made):
        lines = gaussian_lines(tmp_path, seed, 12)
        text = text_of(lines)
        with_it, without = verdicts(text), verdicts(text, without_flint)
        assert [each for each in (*with_it, *without) if not each] == []
        honest += len(with_it)
        one = text_of([line for line in lines if line.get("input") in (None, 0)])
        kept = [json.loads(line) for line in one.splitlines()]
        generator = np.random.default_rng(seed)
        for kind in ("radii", "values", "counts", "looks", "plans", "repeats"):
            for number, mutant in enumerate(KINDS[kind](kept, generator)):
                if number < most:
                    tried += 1
                    assert not is_proved(text_of(mutant), without_flint), kind
                    assert not is_proved(text_of(mutant)), kind
    assert honest >= 12 * runs_made - 2
    assert tried >= 30 * runs_made


def test_what_needs_flint_is_not_proved_without_it(tmp_path: Path, without_flint: Any) -> None:
    found = verdicts(text_of(simulated("np", tmp_path)), without_flint)
    assert found
    assert all("python-flint" in each.reason for each in found)
