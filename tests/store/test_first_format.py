"""A run that the version of the first format wrote: read, certified again, not continued.

Its plan: sigma = 0.5, k = 4, d = 16, n = 3000, np, truncated:heuristic and rescaled:0.8x, with
`--fallback --early-stop`. Its inputs: 0 and 1 were certified, 2 was given up after its 1500 first
votes and 3 after 1024, 4 had nothing but hits and fell back, 5 had no proved majority.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from dsrs.certifying.again import recertify_run
from dsrs.errors import NotEnoughVotes, StoreError
from dsrs.exchange import export_run, import_rows
from dsrs.laws import GeneralizedGaussian, Rescaled, Truncated
from dsrs.measures.certified_accuracy import certified_accuracy
from dsrs.noise.stream import NoiseLaw, Stream
from dsrs.proofs.checking import check
from dsrs.store import open_run, start_run
from dsrs.store.repair import repair_run
from dsrs.store.schema import STORE_NAME
from dsrs.votes.records import ESTIMATION

LAW = GeneralizedGaussian(d=16, sigma=0.5, k=4)
# What that version printed: votes and hits under P, then the radii of np, truncated and rescaled.
UNDER_P = [(3000, 2413), (3000, 2919), (1500, 688), (1024, 207), (3000, 3000), (3000, 1568)]
RADII = [
    (0.3701406847060095, 0.34850166334149113, 0.35129992991528247),
    (0.8711988056871125, 0.8207685266760395, 0.8218000794122483),
    (0.0, 0.0, 0.0),
    (0.0, 0.0, 0.0),
    (1.4415021098626521, 1.4081380409254116, 1.4081380409254116),
    (0.0, 0.0, 0.0),
]
CHOSEN = [0.31654910741867526, 0.4449532687924147]


@pytest.fixture
def old_run(tmp_path: Path) -> Path:
    folder = tmp_path / "old"
    folder.mkdir()
    packed = Path(__file__).with_name("first-format.sqlite.gz").read_bytes()
    (folder / STORE_NAME).write_bytes(gzip.decompress(packed))
    return folder


def test_its_plan_votes_and_certificates_are_read(old_run: Path) -> None:
    with open_run(old_run) as run:
        results = list(run.results())
        plan = run.plan
        assert run.sampled_plan == plan
    assert (plan.law, plan.n, plan.seed, plan.batch) == (LAW, 3000, 0, 64)
    assert plan.methods == ("np", "truncated:heuristic", "rescaled:0.8x")
    assert plan.fallback
    assert plan.early_stop
    for result, (total, hits), radii in zip(results, UNDER_P, RADII, strict=True):
        seen = result.sampled
        assert seen.taken(Stream(ESTIMATION, LAW)) == total
        assert seen.first(Stream(ESTIMATION, LAW), total).successes == hits
        found = {name: certificate.radius for name, certificate in result.certificates.items()}
        assert found == dict(zip(("np", "truncated", "rescaled"), radii, strict=True))
        assert all(check(certificate) for certificate in result.certificates.values())


def test_its_laws_are_those_that_were_sampled(old_run: Path) -> None:
    with open_run(old_run) as run:
        sampled = [result.sampled for result in run.results()]
    for seen, share in zip(sampled, CHOSEN, strict=False):
        ball = Truncated(LAW, share)
        assert seen.choices == {"truncated:heuristic": ball}
        laws: list[NoiseLaw] = [LAW, ball, Rescaled(LAW, 0.4)]
        assert [seen.taken(Stream(ESTIMATION, law)) for law in laws] == [3000, 1500, 1500]
    assert [seen.choices for seen in sampled[2:]] == [{}] * 4


def test_it_is_certified_again_to_the_same_radii(old_run: Path, tmp_path: Path) -> None:
    accuracies = recertify_run(old_run, output=tmp_path / "again")
    with open_run(tmp_path / "again") as again, open_run(old_run) as old:
        assert accuracies == certified_accuracy(again.results())
        assert again.plan == old.plan
        for new, result in zip(again.results(), old.results(), strict=True):
            assert new.sampled == result.sampled
            for name, certificate in result.certificates.items():
                # Earlier kernels ended their search within 1e-9 of the radius.
                assert new.certificates[name].radius == pytest.approx(certificate.radius, abs=1e-8)
                assert new.certificates[name].status == certificate.status


def test_it_is_certified_with_other_settings(old_run: Path, tmp_path: Path) -> None:
    recertify_run(old_run, alpha=0.01, method="rescaled", output=tmp_path / "bold.csv")
    bold = [row.radius for row in import_rows(tmp_path / "bold.csv")]
    assert bold[:2] > [radii[2] for radii in RADII[:2]]
    # One half of the mass, observed by the votes under P that fell into the ball.
    (row, *_) = recertify_run(old_run, q=["truncated:0.5"], method="truncated")
    assert row.method == "truncated"
    with pytest.raises(NotEnoughVotes, match=r"no votes under rescaled:0\.3"):
        recertify_run(old_run, q=["rescaled:0.3"])


def test_it_is_exported_like_any_other(old_run: Path, tmp_path: Path) -> None:
    with open_run(old_run) as run:
        export_run(run, tmp_path / "rows.csv", "csv")
    rows = import_rows(tmp_path / "rows.csv")
    assert [row.radius for row in rows if row.method == "np"] == [radii[0] for radii in RADII]


def test_it_is_not_continued(old_run: Path) -> None:
    before = (old_run / STORE_NAME).read_bytes()
    with open_run(old_run) as run:
        config = run.config
    with pytest.raises(StoreError, match=r"format 1 .* can be shown, .* but not continued"):
        start_run(old_run, config)
    assert (old_run / STORE_NAME).read_bytes() == before


def test_it_is_repaired_into_todays_format(old_run: Path, tmp_path: Path) -> None:
    repair_run(old_run, tmp_path / "sound")
    with open_run(tmp_path / "sound") as new, open_run(old_run) as old:
        assert list(new.results()) == list(old.results())
        assert new.plan == old.plan
