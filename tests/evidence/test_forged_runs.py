"""Runs that were changed: whatever claims more than the votes show is not proved.

Checksums are made to fit, as a forger would. What `dsrs check` reads is what reports read.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dsrs.certifying import recertify_run, retake_votes
from dsrs.classifiers import from_callable
from dsrs.cli.main import main
from dsrs.datasets import Dataset
from dsrs.errors import DsrsError, StoreCorrupted
from dsrs.evidence import evidence_of
from dsrs.store import STORE_NAME, checksum_of, open_run
from evidence.conftest import Runs
from evidence.small_runs import (
    INPUTS,
    PLANS,
    Line,
    classify,
    forge,
    forge_config,
    make_run,
    rewrite,
    verdicts,
)

Change = Callable[[Line], Any]


def reasons(folder: Path) -> dict[str, str]:
    """Why each certificate is not proved; empty for those that are."""
    return {verdict.name: verdict.reason for verdict in verdicts(evidence_of(folder))}


def reason_of(folder: Path, index: int, method: str) -> str:
    return reasons(folder)[f"input {index}, {method}"]


# --------------------------------------------------------------------------------- certificates


def first_step(line: Line) -> Line:
    step: Line = line["proof"]["steps"][0]
    return step


def farther(line: Line) -> None:
    """A longer radius, with a step that reaches it."""
    line["radius"] *= 1.00001
    for step in line["proof"]["steps"][: 2 if line["proof"]["kind"] == "lead" else 1]:
        step["radius"] *= 1.00001


def raise_bound(line: Line, name: str, place: int, by: float) -> None:
    line["proof"][name][place] += by


CERTIFICATES: dict[str, tuple[str, int, str, Change]] = {
    "a longer radius": ("np", 1, "np", farther),
    "only the radius": ("np", 1, "np", lambda line: line.update(radius=1.1 * line["radius"])),
    "a longer lead": ("leading", 2, "np", farther),
    "a longer radius of P alone": ("np", 1, "np", lambda line: line.update(np_radius=1.0)),
    "no proof": ("np", 1, "np", lambda line: line.update(proof=None)),
    "no steps": ("np", 1, "np", lambda line: line["proof"].update(steps=[])),
    "a proof of a kind that nobody knows": (
        "np", 1, "np", lambda line: line["proof"].update(kind="lipschitz"),
    ),
    "a bound that the votes do not show": (
        "np", 1, "np", lambda line: raise_bound(line, "p", 0, 1e-9),
    ),
    "an upper bound that the votes do not show": (
        "double", 1, "rescaled:0.8x", lambda line: raise_bound(line, "p", 1, -1e-9),
    ),
    "a bound beyond the fall-back's": (
        "fallback", 1, "rescaled:0.8x", lambda line: raise_bound(line, "p", 0, 1e-9),
    ),
    "a bound that was not charged for the grid": (
        "grid", 1, "np", lambda line: raise_bound(line, "p", 0, 0.5 * line["variation"]),
    ),
    "a bound under P where no votes were taken for it": (
        "tailored", 1, "tailored", lambda line: raise_bound(line, "p", 0, 0.5),
    ),
    "a rival that is less likely": (
        "leading", 2, "np", lambda line: line["proof"].update(rival=line["proof"]["rival"] - 1e-6),
    ),
    "a class that is likelier": (
        "leading", 2, "np", lambda line: line["proof"].update(lower=line["proof"]["lower"] + 1e-6),
    ),
    "a rival under P that is less likely": (
        "leading double", 2, "rescaled:0.8x", lambda line: raise_bound(line, "p", 1, -1e-6),
    ),
    "a class under P that is likelier": (
        "leading double", 2, "rescaled:0.8x", lambda line: raise_bound(line, "p", 0, 1e-6),
    ),
    "a lead without its bounds under P": (
        "leading double", 2, "rescaled:0.8x", lambda line: line["proof"].update(p=None),
    ),
    "votes under P as those of a law that nobody chose": (
        "no pilot", 1, "tailored",
        lambda line: line["proof"].update(
            additional=[{"law": {"kind": "rescaled", "beta": 0.45}, "q": line["proof"]["p"]}],
            p=[0.0, 1.0],
        ),
    ),
    "another method": ("np", 1, "np", lambda line: line.update(method="tailored")),
}  # fmt: skip


@pytest.mark.parametrize("name", CERTIFICATES)
def test_certificates_that_say_too_much(name: str, copied: Runs) -> None:
    run, index, method, change = CERTIFICATES[name]
    folder = copied(run)
    forge(folder, index, method, certificate=change)
    found = reasons(folder)
    about = [why for each, why in found.items() if each.startswith(f"input {index}, ")]
    assert any(about), found
    assert all(not why for each, why in found.items() if not each.startswith(f"input {index}, "))


@pytest.mark.parametrize("name", ["abstained", "certified"])
def test_another_status_claims_no_more(name: str, copied: Runs) -> None:
    """Harmless: what is proved are radii; whether one was asked for is not said in proof files."""
    folder = copied("radius")
    rewrite(folder, 0, f"status = '{name}'")
    assert not any(reasons(folder).values())


def test_a_shorter_radius_claims_less(copied: Runs) -> None:
    folder = copied("np")
    forge(folder, 1, "np", certificate=lambda line: line.update(radius=0.5 * line["radius"]))
    assert not any(reasons(folder).values())


def test_a_radius_of_p_alone_is_a_claim_without_any_other(copied: Runs) -> None:
    """Reports compare it with the others."""
    folder = copied("np")
    before = evidence_of(folder)
    forge(
        folder, 0, "np",
        certificate=lambda line: line.update(radius=0.0, np_radius=3.0, status="abstained"),
    )  # fmt: skip
    assert evidence_of(folder).abstained == before.abstained - 1
    assert reason_of(folder, 0, "np")


# ---------------------------------------------------------------------------------------- votes


def estimation(parts: list[Line], law: str | None = None) -> list[Line]:
    return [
        part
        for part in parts
        if part["purpose"] == "estimation" and (part["law"] or {}).get("kind") == law
    ]


def less_noise(parts: list[Line]) -> None:
    (part,) = estimation(parts, "rescaled")
    part["law"]["beta"] = 0.41


VOTES: dict[str, tuple[str, int, str, Callable[[list[Line]], Any]]] = {
    "votes that begin late": ("np", 1, "np", lambda parts: parts[0].update(start=1)),
    "no votes": ("np", 1, "np", lambda parts: parts.clear()),
    "hits that no class has": (
        "np", 1, "np",
        lambda parts: parts[0].update(hits=[0] * 64, counts=parts[0]["counts"][::-1]),
    ),
    "votes that chose the class": (
        "leading", 2, "np", lambda parts: [p.update(purpose="selection") for p in parts],
    ),
    "votes under another law": ("leading double", 2, "rescaled:0.8x", less_noise),
    "votes of a purpose that nobody knows": (
        "np", 1, "np", lambda parts: parts[0].update(purpose="practice"),
    ),
    "fewer than none": (
        "np", 1, "np", lambda parts: parts[0].update(counts=[2000, -1000, 0]),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", VOTES)
def test_votes_that_do_not_show_what_is_said(name: str, copied: Runs) -> None:
    run, index, method, change = VOTES[name]
    folder = copied(run)
    forge(folder, index, method, votes=change)
    assert reason_of(folder, index, method)


def test_hits_are_counts_of_the_certified_class(copied: Runs) -> None:
    """Proof files have the counts of every class, not the hits."""
    folder = copied("np")

    def swapped(parts: list[Line]) -> None:
        for part in parts:
            part["counts"] = part["counts"][1:] + part["counts"][:1]

    forge(folder, 1, "np", votes=swapped)
    assert reason_of(folder, 1, "np")
    other = copied("np")
    with sqlite3.connect(other / STORE_NAME) as store:
        (target,) = store.execute("SELECT target FROM input WHERE idx = 1").fetchone()
    store.close()
    forge(other, 1, "np", fields={"target": (target + 1) % 3})
    assert reason_of(other, 1, "np")


def test_a_law_that_votes_were_not_taken_under(copied: Runs) -> None:
    for method, law in (
        ("truncated:heuristic", {"kind": "truncated", "percentile": 0.5}),
        ("tailored", {"kind": "rescaled", "beta": 0.3}),
    ):
        folder = copied("double")
        with sqlite3.connect(folder / STORE_NAME) as store:
            (text,) = store.execute("SELECT choices FROM input WHERE idx = 1").fetchone()
        store.close()
        choices = json.loads(text) | {method: law}
        forge(folder, 1, method, fields={"choices": json.dumps(choices)})
        assert reason_of(folder, 1, method)


def test_an_input_that_was_moved_farther(copied: Runs) -> None:
    folder = copied("grid")
    assert not any(reasons(folder).values())
    forge(folder, 1, "np", fields={"moved": 0.01})
    assert reason_of(folder, 1, "np")


def test_an_answer_without_noise_that_was_changed_is_found_by_its_checksum(copied: Runs) -> None:
    folder = copied("np")
    with sqlite3.connect(folder / STORE_NAME) as store:
        store.execute("UPDATE input SET undefended = 2 WHERE idx = 1")
    store.close()
    assert "checksum" in reason_of(folder, 1, "np")


# ---------------------------------------------------------------------------------------- plans


def planned(**fields: Any) -> Change:
    """A plan that says something else; the plan that sampled is left as it is."""

    def change(config: Line) -> Line:
        plan = config["plan"]
        return config | {"plan": plan | fields, "sampled_plan": config.get("sampled_plan", plan)}

    return change


def votes_of(folder: Path, index: int) -> int:
    with open_run(folder) as run:
        parts = [v for v in run.result(index).votes if v.stream.purpose == "estimation"]
        return sum(part.total for part in parts)


@pytest.mark.parametrize(
    ("run", "fields"),
    [
        ("np", {"alpha": 0.999e-3}),
        ("double", {"alpha": 0.999e-3}),
        ("radii", {"alpha": 0.999e-3}),
        ("family", {"alpha": 1e-9}),
        ("np", {"n": 999}),
        ("grid", {"grid": None}),
        ("grid", {"grid": {"step": 1 / 8160, "origin": 0.0}}),
        ("double", {"law": {"d": 16, "sigma": 0.6, "k": 0.0, "eta": 2.0}}),
        ("leading", {"classes": "top"}),
        ("radius", {"batch": 128}),
        ("radius", {"n": 400_000}),
    ],
    ids=str,
)
def test_plans_that_say_something_else(run: str, fields: Line, copied: Runs) -> None:
    """Also where the plan that sampled is changed alike."""
    for both in (False, True):
        folder = copied(run)
        if both:
            forge_config(folder, lambda config: config | {"plan": config["plan"] | fields})
        else:
            forge_config(folder, planned(**fields))
        try:
            found = reasons(folder)
        except DsrsError:
            continue
        assert found
        assert any(found.values()), both


def test_a_plan_that_was_made_to_suit_the_votes(copied: Runs) -> None:
    """It stopped at a look with a part of alpha, and says now that this was all that it wanted.

    Where the plan that sampled was changed too the run says nothing that is false of its votes:
    that plans were made before the votes no file can show (FORMAT.md 9).
    """
    folder = copied("radius")
    taken = votes_of(folder, 1)
    assert taken < PLANS["radius"].n
    forge_config(folder, planned(radius=None, n=taken))
    assert "differs from the one that votes were taken with" in reason_of(folder, 1, "np")


def test_a_family_has_a_share_for_every_certificate_of_the_run(copied: Runs) -> None:
    """Also for those that abstained: they might have claimed something."""
    alpha = PLANS["np"].alpha
    for size, proved in ((1, False), (2, False), (3, True), (9, True)):
        folder = copied("np")
        change = {"family_alpha": size * alpha, "family_size": size}
        forge_config(folder, planned(**change))
        assert any(reasons(folder).values()) != proved, size


@pytest.mark.parametrize(
    "part",
    [
        {"plan": []}, {"sampled_plan": [1]}, {"model": 5}, {"plan": {"methods": 5}},
        {"sampled_plan": None}, {"model": None}, {"model": {}}, {"data": 3},
    ],
    ids=str,
)  # fmt: skip
def test_configs_that_cannot_be_read_prove_nothing(
    part: Line, copied: Runs, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = copied("np")
    forge_config(folder, lambda config: config | part)
    assert main(["check", str(folder), "--quiet"]) in (1, 2)
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(
    "fields",
    [
        {"radii": [-1.0]}, {"precision": -0.1},
        {"grid": {"step": 1 / 4080, "origin": "here"}}, {"methods": ["hoeffding"]},
        {"methods": ["np:other"]}, {"moonlight": True}, {"target": "loudest"},
        {"law": {"d": 16, "sigma": 0.5, "k": 0.0, "norm": 1}},
    ],
    ids=str,
)  # fmt: skip
def test_plans_that_are_none_prove_nothing(fields: Line, copied: Runs) -> None:
    folder = copied("radius")
    forge_config(folder, lambda config: config | {"plan": config["plan"] | fields})
    assert main(["check", str(folder), "--quiet"]) in (1, 2)


# ------------------------------------------------------------------------------- certified again


def test_a_run_that_was_certified_again(runs: Runs, tmp_path: Path) -> None:
    """Another alpha, and a ball of P's own votes as the second law."""
    recertify_run(runs("double"), alpha=0.01, q=["rescaled:0.8x"], output=tmp_path / "again")
    found = reasons(tmp_path / "again")
    assert set(found) >= {"input 1, np", "input 1, rescaled:0.8x"}
    assert not any(found.values()), found
    forge_config(tmp_path / "again", lambda config: config | {
        "plan": config["plan"] | {"alpha": 0.005}
    })  # fmt: skip
    assert all(reasons(tmp_path / "again").values())


# ---------------------------------------------------------------------------- votes taken again


@pytest.mark.parametrize("change", ["label = 1 - label", "moved = 0.5", "fingerprint = 'x'"])
def test_votes_taken_again_are_of_the_stored_input(change: str, copied: Runs) -> None:
    folder = copied("leading")
    data = Dataset.from_arrays(INPUTS.reshape(-1, 1, 4, 4), classify(INPUTS).tolist())
    model = from_callable(classify, (1, 4, 4), 3)
    assert not any(found.difference for found in retake_votes(folder, model, data, 3))
    with sqlite3.connect(folder / STORE_NAME) as store:
        store.execute(f"UPDATE input SET {change} WHERE idx = 1")
    store.close()
    rewrite(folder, 1, "radius = radius")
    differences = [found.difference for found in retake_votes(folder, model, data, 3)]
    assert [bool(found) for found in differences] == [False, True, False]


@pytest.mark.parametrize("votes", [0, 1, 99])
def test_a_class_that_its_selection_votes_did_not_choose(votes: int, tmp_path: Path) -> None:
    """Proof files cannot show when a class was chosen; votes that are taken again do."""
    plan = PLANS["np"].replace(target="predicted")
    folder = make_run(tmp_path / "run", plan)

    def fewer(parts: list[Line]) -> None:
        (chosen,) = (part for part in parts if part["purpose"] == "selection")
        counts = [0] * len(chosen["counts"])
        counts[0] = votes
        chosen.update(counts=counts, trials=[votes] + [0] * 63, hits=[0] * 64)

    forge(folder, 1, "np", votes=fewer)
    data = Dataset.from_arrays(INPUTS.reshape(-1, 1, 4, 4), classify(INPUTS).tolist())
    model = from_callable(classify, (1, 4, 4), 3)
    differences = [found.difference for found in retake_votes(folder, model, data, 3)]
    assert [bool(found) for found in differences] == [False, True, False]


# ------------------------------------------------------------------- stores with two readings


def refused(folder: Path) -> bool:
    """Whether nobody in dsrs reads the folder, and `dsrs check` says so."""
    with pytest.raises(StoreCorrupted), open_run(folder) as run:
        run.result(1)
    return main(["check", str(folder), "--quiet"]) in (1, 2)


def schema_changed(folder: Path, old: str, new: str) -> None:
    """Give the table of certificates another definition; no row is touched."""
    with sqlite3.connect(folder / STORE_NAME) as store:
        store.execute("PRAGMA writable_schema = ON")
        store.execute(
            "UPDATE sqlite_master SET sql = replace(sql, ?, ?) WHERE name = 'certificate'",
            (old, new),
        )
    store.close()


def test_a_view_is_no_table_of_certificates(copied: Runs) -> None:
    """A view may show each reader another certificate, by how its connection is set."""
    two_faced, forged = copied("np"), copied("np")
    rewrite(forged, 1, "radius = 7.5")
    other = "(SELECT foreign_keys FROM pragma_foreign_keys)"
    with sqlite3.connect(two_faced / STORE_NAME) as store:
        store.execute("ATTACH ? AS other", (str(forged / STORE_NAME),))
        for name in ("certificate", "input"):
            store.execute(f"ALTER TABLE {name} RENAME TO shown_{name}")
            store.execute(f"CREATE TABLE forged_{name} AS SELECT * FROM other.{name}")
            store.execute(
                f"CREATE VIEW {name} AS SELECT * FROM shown_{name} WHERE NOT {other} "
                f"UNION ALL SELECT * FROM forged_{name} WHERE {other}"
            )
    store.close()
    assert refused(two_faced)


def test_an_index_that_may_lack_rows_is_refused(copied: Runs) -> None:
    """Certificates were once listed from the index of a constraint, which lacked one of them."""
    folder = copied("np")
    with sqlite3.connect(folder / STORE_NAME) as store:
        store.execute("CREATE UNIQUE INDEX more ON certificate (idx, position, method)")
    store.close()
    assert refused(folder)


def test_rows_that_lie_in_another_order_than_the_table_says(copied: Runs) -> None:
    """What a search finds is then not what a scan finds."""
    folder = copied("np")
    schema_changed(folder, "(idx, position)", "(idx DESC, position)")
    assert refused(folder)


def test_bytes_are_no_text(copied: Runs) -> None:
    folder = copied("np")
    with sqlite3.connect(folder / STORE_NAME) as store:
        config = store.execute("SELECT config FROM run").fetchone()[0].encode()
        checksum = hashlib.sha256(str(config).encode() + b"\0").hexdigest()
        store.execute("UPDATE run SET config = ?, checksum = ?", (config, checksum))
    store.close()
    assert main(["check", str(folder), "--quiet"]) == 2


def test_of_a_field_of_the_config_that_comes_twice_the_last_one_counts(copied: Runs) -> None:
    """Everywhere in dsrs."""
    folder = copied("np")
    other = PLANS["np"].replace(alpha=1e-5, grid=None).to_dict()
    with sqlite3.connect(folder / STORE_NAME) as store:
        text = store.execute("SELECT config FROM run").fetchone()[0]
        twice = text[:-1] + ', "plan": ' + json.dumps(other) + "}"
        store.execute("UPDATE run SET config = ?, checksum = ?", (twice, checksum_of(twice)))
    store.close()
    with open_run(folder) as run:
        assert run.plan.alpha == 1e-5
    assert all(reasons(folder).values())
