"""Answers to many inputs at once, and answers that come with a certificate."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import dsrs
from dsrs.cli.main import main
from dsrs.errors import InvalidInput
from dsrs.noise import NoiseStream, Stream
from dsrs.smoothed import SmoothedClassifier
from known_classifiers import Linear, margin_of

SIGMA = 0.5
LAW = dsrs.GeneralizedGaussian(8, SIGMA)
INPUTS = np.random.default_rng(1).random((9, 8), dtype=np.float32) / 4


def test_many_answers_are_those_of_each_input_alone() -> None:
    for workers in (1, 2, 5):
        smoothed = SmoothedClassifier(Linear(8, 0.2), LAW, seed=4, workers=workers)
        many = smoothed.predict(INPUTS)
        assert many == [smoothed.predict(x, index=place) for place, x in enumerate(INPUTS)]
        assert smoothed.predict(INPUTS, index=[7, 2]) == [many[7], many[2]]


def test_each_of_many_answers_has_a_seed_of_its_own() -> None:
    smoothed = SmoothedClassifier(Linear(8, 0.2), LAW)
    answers = [*smoothed.predict(INPUTS), *smoothed.predict(INPUTS)]
    assert len({answer.seed for answer in answers}) == 18
    assert not any(answer.seed_public for answer in answers)
    one = answers[3]
    again = SmoothedClassifier(Linear(8, 0.2), LAW, seed=one.seed).predict(INPUTS[3], index=3)
    assert again.counts == one.counts


def test_threads_are_kept_from_one_answer_to_the_next() -> None:
    smoothed = SmoothedClassifier(Linear(8, 0.2), LAW, n=2000, method="np", workers=2)
    smoothed.certify(INPUTS[0])
    threads = smoothed._collector()
    smoothed.predict(INPUTS[0])
    smoothed.certify(INPUTS[1])
    assert smoothed._collector() is threads


def test_a_class_is_answered_only_where_it_is_certified_at_the_radius() -> None:
    smoothed = SmoothedClassifier(Linear(8, 0.5), LAW, seed=0)
    x = np.zeros(8, np.float32)  # 0.5 from the other class
    near, far = smoothed.predict(x, radius=0.25), smoothed.predict(x, radius=0.6)
    assert (near.status, near.label) == ("predicted", 1)
    assert 0.25 <= near.certificate.radius <= 0.5
    assert near.certificate.subject.target == 1
    assert dsrs.check(near.certificate)
    assert (far.status, far.label) == ("abstained", None)
    assert far.certificate.status == "short"
    assert sum(near.counts) < 1000 > sum(far.counts)  # both are decided early
    assert smoothed.predict(x).certificate is None


def test_certified_answers_are_wrong_at_most_alpha_often() -> None:
    # The true radius is a little below the one that is asked for: each answer would be wrong.
    radius = 0.2
    classifier = Linear(8, 0.999 * radius)
    wrong = sum(
        SmoothedClassifier(classifier, LAW, seed=seed, workers=1)
        .predict(np.zeros(8, np.float32), n=200, alpha=0.2, radius=radius)
        .status
        == "predicted"
        for seed in range(60)
    )
    assert wrong <= 0.2 * 60
    assert margin_of(0.5, SIGMA) == pytest.approx(0)


def test_a_method_without_an_early_answer_gives_way() -> None:
    law = dsrs.GeneralizedGaussian(8, SIGMA, 2)
    smoothed = SmoothedClassifier(Linear(8, 0.5), law, method="rescaled:0.8x", seed=0)
    answer = smoothed.predict(np.zeros(8, np.float32), radius=0.1)
    assert answer.certificate.subject.method == "np"
    assert answer.label == 1
    for bad in (-1.0, "1", True):
        with pytest.raises(InvalidInput, match="`radius` must be a positive number"):
            smoothed.predict(np.zeros(8, np.float32), radius=bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("k", [0, 2])
def test_noise_of_a_sample_does_not_depend_on_where_a_block_begins(k: float) -> None:
    law = dsrs.GeneralizedGaussian(8, SIGMA, k)
    stream = NoiseStream(Stream("p", law), 5, 0)
    x, whole, norms = np.zeros(8, np.float32), np.empty((512, 8), np.float32), np.empty(512)
    stream.add_to(x, 0, whole, norms)
    for first, count in ((64, 64), (192, 128), (300, 7)):
        part, part_norms = np.empty((count, 8), np.float32), np.empty(count)
        stream.add_to(x, first, part, part_norms)
        assert np.array_equal(part, whole[first : first + count])
        assert np.array_equal(part_norms, norms[first : first + count])


def test_the_command_prints_certificates(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("onnxruntime", reason="needs the extra `demo`")
    folder = Path(dsrs.__file__).parent / "demo"
    command = f"predict --model {folder}/model.onnx --data {folder}/images.npz --indices 1,2"
    assert main([*command.split(), *["--sigma", "0.5", "--radius", "0.25", "--json"]]) == 0
    answers = json.loads(capsys.readouterr().out)
    assert [answer["index"] for answer in answers] == [1, 2]
    for answer in answers:
        certificate = dsrs.Certificate.from_dict(answer["certificate"])
        assert (answer["class"] is not None) == (certificate.radius >= 0.25)
        assert dsrs.check(certificate)
