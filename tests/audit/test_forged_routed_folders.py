"""Run folders of routed models in which one part is forged are not verified.

Checksums are made to fit, as a forger would. What no arithmetic can tell (votes, noise or seed that
were forged together with everything that follows from them) is told by taking the votes again.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("flint")

import dsrs
from dsrs.audit.run_folder import STORE_NAME
from dsrs.certifying.again import recertify_run
from dsrs.cli.main import main
from dsrs.laws import GeneralizedGaussian
from dsrs.store import open_run
from dsrs.store.rows import CERTIFICATE_COLUMNS, INPUT_COLUMNS, InputRows, rows_of_index
from dsrs.store.schema import checksum_of
from routing import planted

PLANTED = Path(planted.__file__)
ROUTER = 0
# The first is so near to the router's border that a rival had to be asked.
INPUTS = np.array([[-0.3, 0.6, 0, 0], [-0.9, 1.2, 0, 0]], "f4")
LABELS = np.array([1, 1])


class Stored:
    """All that a run folder says of its first input, to be changed and written back."""

    def __init__(self, folder: Path) -> None:
        self.store = folder / STORE_NAME
        with sqlite3.connect(self.store) as connection:
            self.config = json.loads(connection.execute("SELECT config FROM run").fetchone()[0])
            (*self.fields, self.thumbnail, _), votes, rows = rows_of_index(
                connection, 0, self.store, INPUT_COLUMNS, CERTIFICATE_COLUMNS
            )
        connection.close()
        self.votes: list[dict[str, Any]] = [json.loads(body) for (body,) in votes]
        self.row = dict(zip(CERTIFICATE_COLUMNS, rows[0], strict=True))
        self.proof = json.loads(self.row["proof"])
        self.named = self.proof["named"]
        self.rival = 1 - self.named if len(self.proof["experts"]) == 2 else 1

    @property
    def plan(self) -> Any:
        return self.config["plan"]

    def units(self, place: int, purpose: str) -> list[dict[str, Any]]:
        return [
            one for one in self.votes if (one["classifier"], one["purpose"]) == (place, purpose)
        ]

    def write(self) -> None:
        text = json.dumps(self.config)
        bodies = [json.dumps(one) for one in self.votes]
        row = [*(self.row | {"proof": json.dumps(self.proof)}).values()]
        own = InputRows(self.fields, bodies, [row], self.thumbnail)
        named = ", ".join(f"{column} = ?" for column in CERTIFICATE_COLUMNS)
        with sqlite3.connect(self.store) as connection:
            connection.execute("UPDATE run SET config = ?, checksum = ?", (text, checksum_of(text)))
            connection.execute(f"UPDATE certificate SET {named} WHERE idx = 0", row)
            connection.execute("DELETE FROM votes WHERE idx = 0")
            connection.executemany(
                "INSERT INTO votes (idx, position, body) VALUES (0, ?, ?)", enumerate(bodies)
            )
            connection.execute("UPDATE input SET checksum = ? WHERE idx = 0", (own.checksum,))
        connection.close()


def route_file(folder: Path, experts: int) -> Path:
    router = "router" if experts == 2 else "router_of_three"
    tables = [("[router]", router, 0.5)]
    tables += [("[[experts]]", "expert", sigma) for sigma in (0.25, 1.0, 0.5)[:experts]]
    text = "\n".join(f'{head}\nmodel = "{PLANTED}:{name}"\nsigma = {s}' for head, name, s in tables)
    folder.mkdir()
    (folder / "route.toml").write_text(text + "\n")
    return folder


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Path]:
    """The run of two experts, or of three, made once."""
    base = tmp_path_factory.mktemp("routed")
    data = base / "data.npz"
    np.savez(data, images=INPUTS, labels=LABELS)

    def made(experts: int) -> Path:
        run = base / f"run{experts}"
        if not run.exists():
            model = route_file(base / f"routed{experts}", experts)
            command = ["certify", "--model", str(model), "--data", str(data), "--bounds", "-4", "4"]
            command += ["--n", "2000", "--q", "none", "--output", str(run), "--quiet"]
            assert main(command) == 0
        return run

    return made


def moved_votes(place: int, purpose: str, share: float) -> Callable[[Stored], None]:
    """A share of the hits of a stream become misses; negative: of misses, hits."""

    def change(stored: Stored) -> None:
        target = stored.named if place == ROUTER else 1
        other = stored.rival if place == ROUTER else 0
        found = stored.units(place, purpose)
        assert found
        for unit in found:
            counts, hits = unit["counts"], unit["hits"]
            moved = int(share * counts[target if share > 0 else other])
            counts[target], counts[other] = counts[target] - moved, counts[other] + moved
            for b, trials in enumerate(unit["trials"]):
                kept = min(max(hits[b] - moved, 0), trials)
                hits[b], moved = kept, moved - (hits[b] - kept)

    return change


def better_proof(part: str) -> Callable[[Stored], None]:
    """A true proof, of bounds that no votes gave, for an expert or for the router against it."""

    def change(stored: Stored) -> None:
        place = {"named": stored.named, "rival": stored.rival, "router": stored.rival}[part]
        own = stored.proof["experts"][place]
        law = stored.plan["law"] if part == "router" else own["law"]
        sigma = GeneralizedGaussian.from_dict(law)
        better = dsrs.certify(sigma, dsrs.Interval(1 - 1e-6, 1.0)).proof
        assert better is not None
        own["excluded" if part == "router" else "proof"] = better.to_dict()

    return change


def set_part(name: str, value: Any, rival: bool = True) -> Callable[[Stored], None]:
    def change(stored: Stored) -> None:
        stored.proof["experts"][stored.rival if rival else stored.named][name] = value

    return change


def set_plan(**changes: Any) -> Callable[[Stored], None]:
    return lambda stored: stored.plan.update(changes)


def another_noise(place: int, sigma: float) -> Callable[[Stored], None]:
    def change(stored: Stored) -> None:
        law = stored.plan["law"] if place == ROUTER else stored.plan["experts"][place - 1]
        law["sigma"] = sigma

    return change


def name_the_rival(stored: Stored) -> None:
    stored.proof["named"] = stored.rival


def drop_votes(place: int, purpose: str) -> Callable[[Stored], None]:
    def change(stored: Stored) -> None:
        dropped = stored.units(place, purpose)
        assert dropped
        stored.votes = [one for one in stored.votes if one not in dropped]

    return change


def no_votes_that_name(stored: Stored) -> None:
    """Of no votes the first expert has the most, and it is the named one."""
    assert stored.named == 0
    for unit in stored.units(ROUTER, "selection"):
        for name in ("counts", "trials", "hits"):
            unit[name] = [0] * len(unit[name])


def votes_of_another(stored: Stored) -> None:
    for unit in stored.units(2, "estimation"):
        unit["classifier"] = 1


def swapped_experts(stored: Stored) -> None:
    stored.plan["experts"].reverse()


def larger_radius(stored: Stored) -> None:
    stored.row["radius"] *= 1.001


def all_of_alpha_twice(stored: Stored) -> None:
    for part in stored.proof["experts"]:
        part["alpha"] = stored.proof["alpha"]


FORGED: dict[str, Callable[[Stored], None]] = {
    "radius": larger_radius,
    "router's votes": moved_votes(ROUTER, "estimation", 0.1),
    "router's votes that name": moved_votes(ROUTER, "selection", 0.9),
    "router's votes are gone": drop_votes(ROUTER, "estimation"),
    "votes that name are gone": drop_votes(ROUTER, "selection"),
    "votes that name are none": no_votes_that_name,
    "named expert's votes": moved_votes(1, "estimation", 0.1),
    "rival's votes": moved_votes(2, "estimation", 0.1),
    "rival's votes are gone": drop_votes(2, "estimation"),
    "rival's votes as the named expert's": votes_of_another,
    "named expert's certificate": better_proof("named"),
    "rival's certificate": better_proof("rival"),
    "router's bounds": better_proof("router"),
    "no certificate of the named expert": set_part("proof", None, rival=False),
    "named expert": name_the_rival,
    "alpha of the proof": lambda stored: stored.proof.update(alpha=0.01),
    "alpha of the plan": set_plan(alpha=1e-5),
    "shares of alpha": all_of_alpha_twice,
    "the router's share of alpha": set_part("router_alpha", 0.0009),
    "noise of the router": another_noise(ROUTER, 1.0),
    "noise of the named expert": another_noise(1, 1.0),
    "noise of the rival": another_noise(2, 2.0),
    "noise of the rival in the proof": lambda stored: stored.proof["experts"][1]["law"].update(
        sigma=2.0
    ),
    "order of the experts": swapped_experts,
    "votes of the plan": set_plan(n=4000),
    "experts of the plan": set_plan(experts=[]),
}


def forged(honest: Path, tmp_path: Path, change: Callable[[Stored], None]) -> Path:
    folder = tmp_path / "forged"
    shutil.copytree(honest, folder)
    stored = Stored(folder)
    change(stored)
    stored.write()
    return folder


@pytest.mark.parametrize("experts", [2, 3])
def test_honest_folders_are_verified(
    experts: int, honest: Callable[[int], Path], tmp_path: Path
) -> None:
    run = honest(experts)
    stored = Stored(run)
    # Else the forgeries below would change parts that have no effect.
    assert stored.row["radius"] > 0
    assert all(part["proof"] for part in stored.proof["experts"][:2])
    assert (
        stored.proof["experts"][stored.rival]["excluded"]["kind"] == ["dual", "lead"][experts - 2]
    )
    assert retaken(run) == 0
    assert main(["check", str(forged(run, tmp_path, lambda stored: None)), "--quiet"]) == 0


@pytest.mark.parametrize("experts", [2, 3])
@pytest.mark.parametrize("name", FORGED)
def test_a_forged_part_is_refuted(
    name: str, experts: int, honest: Callable[[int], Path], tmp_path: Path
) -> None:
    folder = forged(honest(experts), tmp_path, FORGED[name])
    assert main(["check", str(folder), "--quiet"]) == 1


def retaken(folder: Path) -> int:
    """Take votes again, of the model that the run names: routed folders are run only by name."""
    with open_run(folder) as run:
        model = run.config["source"]["model"]
    return main(["check", str(folder), "--votes", "2", "--quiet", "--model", model])


@pytest.mark.parametrize("place", [0, 1, 2])
def test_better_votes_with_all_that_follows_differ_from_those_of_the_seed(
    place: int, honest: Callable[[int], Path], tmp_path: Path
) -> None:
    folder = forged(honest(2), tmp_path, moved_votes(place, "estimation", -0.5))
    recertify_run(folder, output=tmp_path / "again")
    assert main(["check", str(tmp_path / "again"), "--quiet"]) == 0
    assert retaken(tmp_path / "again") == 1


def test_another_seed_gives_other_votes(honest: Callable[[int], Path], tmp_path: Path) -> None:
    assert retaken(forged(honest(2), tmp_path, set_plan(seed=5))) == 1


def test_a_route_file_with_other_noise_is_another_model(
    honest: Callable[[int], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = honest(2)
    other = tmp_path / "other"
    shutil.copytree(run.parent / "routed2", other)
    file = other / "route.toml"
    file.write_text(file.read_text().replace("sigma = 0.25", "sigma = 0.3"))
    data = str(run.parent / "data.npz")
    command = ["check", str(run), "--model", str(other), "--data", data, "--bounds", "-4", "4"]
    assert main([*command, "--quiet"]) == 1
    assert "it is about another model" in capsys.readouterr().out
    assert main([*command, "--votes", "2", "--quiet"]) == 2
    assert "this is not the model of" in capsys.readouterr().err
