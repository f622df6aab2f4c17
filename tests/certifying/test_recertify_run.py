"""Recertify from saved votes: the same answer again, another alpha, and refusals."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dsrs.certifying import certify_again, certify_run, recertify_run, replanned
from dsrs.classifiers import from_callable
from dsrs.datasets import Dataset
from dsrs.errors import InvalidInput, NotEnoughVotes, StoreMismatch
from dsrs.laws import GeneralizedGaussian
from dsrs.measures import certified_accuracy
from dsrs.methods import Plan
from dsrs.proofs import check
from dsrs.store import RunResult, open_run

LAW = GeneralizedGaussian(d=16, sigma=0.5, k=4)


def bright(batch: np.ndarray) -> np.ndarray:
    score = batch.reshape(len(batch), -1).mean(axis=1) - np.float32(0.5)
    return np.stack([-score, score], axis=1)


def make_run(folder: Path, *methods: str) -> Path:
    generator = np.random.default_rng(0)
    means = np.linspace(0.3, 0.7, 4)[:, None, None]
    images = (means + generator.uniform(-0.2, 0.2, (4, 4, 4))).astype(np.float32)
    certify_run(
        from_callable(bright, (1, 4, 4), 2),
        Dataset.from_arrays(images, (images.mean(axis=(1, 2)) > 0.5).astype(np.int64)),
        Plan(LAW, methods, n=400, batch=64),
        range(4),
        folder,
    )
    return folder


@pytest.fixture(scope="module")
def two_laws(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("two") / "run"
    return make_run(folder, "np", "truncated:heuristic", "rescaled:0.8x")


@pytest.fixture(scope="module")
def only_p(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("only") / "run", "np")


def results(folder: Path) -> list[RunResult]:
    with open_run(folder) as run:
        return list(run.results())


def test_the_same_plan_gives_the_same_run(two_laws: Path, tmp_path: Path) -> None:
    accuracies = recertify_run(two_laws, output=tmp_path / "again")
    assert results(tmp_path / "again") == results(two_laws)
    assert accuracies == certified_accuracy(results(two_laws))
    with open_run(tmp_path / "again") as run:
        assert run.config["recertified_from"] == str(two_laws)


def test_a_larger_alpha_proves_more(two_laws: Path, tmp_path: Path) -> None:
    recertify_run(two_laws, alpha=0.1, output=tmp_path / "bold")
    larger = 0
    for bold, shy in zip(results(tmp_path / "bold"), results(two_laws), strict=True):
        assert bold.sampled == shy.sampled
        for method, certificate in bold.certificates.items():
            assert certificate.radius >= shy.certificates[method].radius
            assert check(certificate)
            larger += certificate.radius > shy.certificates[method].radius
    assert larger > 0


def test_laws_and_methods_can_be_chosen_under_any_name(two_laws: Path) -> None:
    with open_run(two_laws) as run:
        plan = replanned(run.plan, q=["rescaled:0.4"])
        assert plan.methods == ("np", "rescaled:0.4")
        found = {one.index: one.certificates for one in certify_again(run, plan)}
        renamed = replanned(run.plan, q=["truncated:heuristic", "rescaled:0.4"])
        assert renamed.methods == ("np", "truncated:heuristic", "rescaled:0.4")
        both = {one.index: one.certificates for one in certify_again(run, renamed)}
    for old in results(two_laws):
        again = found[old.index]["rescaled"]
        assert again.subject is not None
        assert again.subject.method == "rescaled:0.4"
        same = replace(again, subject=old.certificates["rescaled"].subject)
        assert same == old.certificates["rescaled"]
        assert both[old.index]["truncated"] == old.certificates["truncated"]


def test_one_method_alone(two_laws: Path) -> None:
    assert [row.method for row in recertify_run(two_laws, method="np")] == ["np"]
    assert [row.method for row in recertify_run(two_laws, method="rescaled")] == ["rescaled"]
    with pytest.raises(InvalidInput, match="must be one of np, truncated, rescaled, got 'other'"):
        recertify_run(two_laws, method="other")


@pytest.mark.parametrize(
    ("law", "named"),
    [
        ("rescaled:0.5x", "rescaled:0.25"),
        ("truncated:0.51", "truncated:0.51"),
        ("truncated:paper-heuristic", "truncated:0.5"),
        ("rescaled:0.2", "rescaled:0.2"),
    ],
)
def test_what_the_votes_do_not_allow_is_refused(
    two_laws: Path, tmp_path: Path, law: str, named: str
) -> None:
    with pytest.raises(NotEnoughVotes, match=f"estimation votes under {named}, and has"):
        recertify_run(two_laws, q=[law], output=tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_heuristic_is_not_answered_with_another_truncated_law(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", "np", "truncated:0.7")
    with pytest.raises(NotEnoughVotes, match=r"estimation votes under truncated:0\.35"):
        recertify_run(folder, q=["truncated:heuristic"])


def test_other_additional_votes_do_not_allow_neyman_pearson(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", "truncated:heuristic")
    with pytest.raises(NotEnoughVotes, match="needs the first 400 estimation votes under P"):
        recertify_run(folder, method="np")


def test_a_recertified_run_knows_what_was_sampled(only_p: Path, tmp_path: Path) -> None:
    recertify_run(only_p, alpha=0.01, output=tmp_path / "ball")
    again = recertify_run(tmp_path / "ball")
    assert again == certified_accuracy(results(tmp_path / "ball"))
    with open_run(tmp_path / "ball") as run, open_run(only_p) as original:
        assert run.sampled_plan == original.plan != run.plan
    with pytest.raises(StoreMismatch, match=r"sampled_plan: stored .*, given None"):
        make_run(tmp_path / "ball", "np", "truncated:0.75")


def test_progress_is_counted(two_laws: Path) -> None:
    class Watch:
        def __init__(self, total: int) -> None:
            self.total, self.done = total, 0
            seen.append(self)

        def __enter__(self) -> Watch:
            return self

        def __exit__(self, *ending: object) -> None:
            pass

        def skip(self, count: int) -> None:
            raise AssertionError

        def advance(self, count: int = 1, votes: int = 0) -> None:
            self.done += count

    seen: list[Watch] = []
    recertify_run(two_laws, progress=Watch)
    assert [(watch.total, watch.done) for watch in seen] == [(4, 4)]


def test_more_methods_than_a_family_had_end_its_promise() -> None:
    plan = Plan(GeneralizedGaussian(16, 0.5), ("np", "truncated:0.8"), n=400).for_all_of(2, 0.04)
    assert plan.family_size == 4
    more = replanned(plan, q=("truncated:0.8", "rescaled:0.9x"))
    assert (more.alpha, more.family_alpha, more.family_size) == (plan.alpha, None, None)
    fewer = replanned(plan, q=("none",))
    assert (fewer.family_alpha, fewer.family_size) == (plan.family_alpha, plan.family_size)
