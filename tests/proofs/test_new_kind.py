"""A kind of proof in a file of its own: known to certificates, runs and tables by one line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from dsrs.cli.main import main
from dsrs.errors import DataError, InvalidInput
from dsrs.exchange import import_rows
from dsrs.laws import GeneralizedGaussian
from dsrs.methods import Plan, subject_of
from dsrs.proofs import (
    PROOF_KINDS,
    Certificate,
    Claim,
    Interval,
    Proof,
    Step,
    certificate_of,
    check,
    find_flaw,
    register,
)
from dsrs.store import RunResult, open_run, start_run
from dsrs.votes import SampledInput

LAW = GeneralizedGaussian(16, 0.5)
PLAN = Plan(LAW, ("np",), n=1000, grid=None)


@dataclass(frozen=True, slots=True)
class Lipschitz(Proof):
    """P_A falls by at most `slope` for each unit of length, from at least `lower`."""

    lower: float
    slope: float
    steps: tuple[Step, ...] = ()

    kind: ClassVar[str] = "lipschitz"
    claim: ClassVar[Claim] = "majority"

    @property
    def reach(self) -> float:
        return max(0.0, (self.lower - 0.5) / self.slope)

    @property
    def known_of_p(self) -> Interval:
        return Interval(self.lower, 1.0)

    def flaw(self, law: GeneralizedGaussian) -> str | None:
        known = 0.7979 / law.sigma / 2  # of every smoothed classifier: 1 / (sigma sqrt(2 pi))
        return None if self.slope >= known else f"no slope is known to be below {known!r}"


@pytest.fixture
def known() -> Iterator[None]:
    register(Lipschitz)
    yield
    del PROOF_KINDS[Lipschitz.kind]


def proved(lower: float) -> Certificate:
    return certificate_of(LAW, Lipschitz(lower, 0.8))


@pytest.mark.usefixtures("known")
def test_it_is_certified_written_read_and_checked() -> None:
    found = proved(0.9)
    assert (found.status, found.claim) == ("certified", "majority")
    assert found.radius == pytest.approx(0.5)
    # Neyman and Pearson know more; a certificate claims no more by them than in all.
    assert found.np_radius == found.radius
    assert Certificate.from_json(found.to_json()) == found
    assert json.loads(found.to_json())["proof"] == {
        "kind": "lipschitz", "lower": 0.9, "slope": 0.8, "steps": []
    }  # fmt: skip
    assert check(found)
    assert "below the radius" in str(find_flaw(replace(found, radius=0.6)))
    assert "no slope" in str(find_flaw(certificate_of(LAW, Lipschitz(0.9, 0.1))))
    assert proved(0.4).status == "abstained"


@pytest.mark.usefixtures("known")
def test_it_is_kept_in_runs_and_tables_and_has_no_form_in_proof_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    config: dict[str, Any] = {
        "plan": PLAN.to_dict(),
        "model": {"fingerprint": "m"},
        "data": {"labels": True},
    }
    sampled = SampledInput(3, 1, 1, 1, model="m", input="i")
    made = replace(proved(0.9), subject=subject_of(sampled, PLAN, "np"))
    with start_run("run", config) as writer:
        writer.add(RunResult(sampled, {"np": made}))
    with open_run("run") as run:
        assert run.result(3).certificates == {"np": made}
    assert main(["export", "run", "--output", "table.csv"]) == 0
    (row,) = import_rows(Path("table.csv"))
    assert (row.p_lower, row.radius, row.q_law) == (0.9, made.radius, None)
    assert json.loads(row.proof or "")["kind"] == "lipschitz"
    for saved in ("run", "table.csv"):
        assert main(["check", saved]) == 1
        assert "lipschitz" in capsys.readouterr().out


def test_a_kind_is_known_once_and_by_name() -> None:
    with pytest.raises(DataError, match=r"must be one of dual, lead, got 'lipschitz'"):
        Certificate.from_json(proved(0.9).to_json())

    class Other(Lipschitz):
        kind: ClassVar[str] = "dual"

    with pytest.raises(InvalidInput, match="already"):
        register(Other)
