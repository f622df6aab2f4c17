"""Votes counted on a device are those counted here; nothing waits for them batch by batch."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dsrs.certifying import sample_input
from dsrs.classifiers import DeviceVotes, Prepared, device_votes, from_torch, load_classifier
from dsrs.errors import ClassifierError, InvalidInput
from dsrs.laws import GeneralizedGaussian, Grid
from dsrs.methods import Plan
from dsrs.votes import VoteCollector

pytest.importorskip("torch", reason="needs the extra `torch`")
import torch

SHAPE, D = (3, 4), 12
GRID = Grid.of_bounds((0.0, 1.0))
PLAN = Plan(GeneralizedGaussian(D, 0.5, 2.0), ("np", "tailored"), n=1500, batch=32, grid=GRID)
X = np.random.default_rng(3).random(SHAPE, dtype=np.float32)


def network() -> Any:
    torch.manual_seed(0)
    layers = torch.nn.Linear(D, 9), torch.nn.ReLU(), torch.nn.Linear(9, 3)
    return torch.nn.Sequential(torch.nn.Flatten(), *layers).eval()


class Answering(torch.nn.Module):
    """Answers with a function of its batch."""

    def __init__(self, answer: Callable[[Any], Any]) -> None:
        super().__init__()
        self.answer = answer

    def forward(self, batch: Any) -> Any:
        return self.answer(batch)


def votes(module: Any, device: str, plan: Plan = PLAN, **options: Any) -> Any:
    model = from_torch(module, SHAPE, engine="eager", device=device, **options)
    return sample_input(model, X, plan, 0, 1).votes


def test_a_device_is_waited_for_once_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    waits, taken = [], DeviceVotes.taken

    def counted(self: DeviceVotes) -> Any:
        waits.append(1)
        return taken(self)

    monkeypatch.setattr(DeviceVotes, "taken", counted)
    model = from_torch(network(), SHAPE, device="cpu:0")
    plan = PLAN.replace(methods=("np",), n=6000)  # 188 batches, and some that choose the class
    with VoteCollector(2) as collector:
        found = sample_input(model, X, plan, 0, 1, collector).votes
    assert 1 <= len(waits) <= 4
    assert found == votes(network(), "cpu", plan)


def test_class_ids_and_ties_are_counted_alike() -> None:
    for answer in (
        lambda batch: (batch.flatten(1).sum(1) > 6.0).long(),
        lambda batch: torch.round(2 * torch.stack([batch[:, 0, 0], batch[:, 1, 0]], 1)),
    ):
        module = Answering(answer).eval()
        here, there = (votes(module, place, num_classes=2) for place in ("cpu", "cpu:0"))
        assert here == there


@pytest.mark.parametrize(
    "answer",
    [
        lambda batch: (batch.flatten(1).sum(1) > 8.0).long() * 2,
        lambda batch: torch.log(batch.flatten(1)[:, :2] + 0.5),
    ],
    ids=["a class that is none", "NaN"],
)
def test_a_flawed_answer_is_an_error_at_the_end(answer: Any) -> None:
    module = Answering(answer).eval()
    with pytest.raises(ClassifierError, match="must return finite logits"):
        votes(module, "cpu:0", num_classes=2)


def test_an_answer_of_another_shape_is_an_error() -> None:
    calls: list[int] = []

    def changing(batch: Any) -> Any:
        calls.append(1)
        return batch.flatten(1)[:, : 3 if len(calls) < 3 else 5]

    with pytest.raises(ClassifierError, match=r"must return float logits of shape \(32, 3\)"):
        votes(Answering(changing).eval(), "cpu:0")


def test_noise_may_be_made_a_batch_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    class Ahead(device_votes.InOrder):
        lag = 1

    monkeypatch.setattr("dsrs.classifiers.device_votes.order_on", lambda place: Ahead())
    ahead = votes(network(), "cpu:0")
    monkeypatch.undo()
    assert ahead == votes(network(), "cpu")


def test_what_there_is_no_memory_for_is_counted_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """The batch that waits, and the one whose noise is made, may both find no memory."""

    class Ahead(device_votes.InOrder):
        lag = 1

    def hungry(batch: Any) -> Any:
        if len(batch) > 8:
            raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB")
        return batch.flatten(1)[:, :3] * 64 // 1

    monkeypatch.setattr("dsrs.classifiers.device_votes.order_on", lambda place: Ahead())
    lean = Answering(lambda batch: batch.flatten(1)[:, :3] * 64 // 1).eval()
    assert votes(Answering(hungry).eval(), "cpu:0") == votes(lean, "cpu")


class FakeStream:
    """A stream of a device that does everything at once, and says what it was asked for."""

    def __init__(self, log: list[str], name: str) -> None:
        self.log, self.name = log, name

    def record_event(self) -> str:
        self.log.append(f"{self.name} ready")
        return f"{self.name} is ready"

    def wait_event(self, event: str) -> None:
        self.log.append(f"{self.name} waits until {event}")

    def wait_stream(self, other: FakeStream) -> None:
        self.log.append(f"{self.name} waits for {other.name}")


class FakeTensor:
    """What a stream sees of a tensor."""

    shape = (2, 3)

    def __init__(self, log: list[str]) -> None:
        self.log = log

    def record_stream(self, stream: FakeStream) -> None:
        self.log.append(f"kept for {stream.name}")


def test_two_streams_wait_for_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    log: list[str] = []
    main, noise = FakeStream(log, "main"), FakeStream(log, "noise")
    cuda = SimpleNamespace(
        Stream=lambda place: noise,
        current_stream=lambda place: main,
        stream=lambda stream: nullcontext(),
    )
    monkeypatch.setattr(torch, "cuda", cuda)
    order = device_votes.TwoStreams("cuda:0")
    assert log == ["noise waits for main"]
    made = Prepared(FakeTensor(log), FakeTensor(log), lambda batch: "answer")
    assert order.prepare(lambda: made) is made
    assert order.handed_over(made) is made
    assert log[1:] == [
        *("noise ready", "main waits until noise is ready"),
        *("kept for main", "kept for main"),
    ]
    # Without CUDA graphs every pass is a plain one.
    assert [order.answer(made) for _ in range(3)] == ["answer"] * 3
    assert order._graphs == {(2, 3): None}


def test_overlap_needs_a_pass_of_the_doctor(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("DSRS_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv(device_votes.OVERLAP_SWITCH, raising=False)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda place: "A1000")
    gpu, cpu = torch.device("cuda:0"), torch.device("cpu:0")
    assert not device_votes.may_overlap(gpu)
    device_votes.record_pass(gpu, True)
    assert device_votes.may_overlap(gpu)
    assert "A1000, driver " in (tmp_path / "dsrs" / "doctor.json").read_text()
    with device_votes.switched("off"):
        assert not device_votes.may_overlap(gpu)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda place: "A1001")
    assert not device_votes.may_overlap(gpu)
    with device_votes.switched("on"):
        assert device_votes.may_overlap(gpu)
        assert not device_votes.may_overlap(cpu)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda place: "A1000")
    device_votes.record_pass(gpu, False)
    assert not device_votes.may_overlap(gpu)
    (tmp_path / "dsrs" / "doctor.json").write_text("{damaged")
    assert not device_votes.may_overlap(gpu)


def test_an_onnx_file_reads_noise_where_it_is(tmp_path: Any) -> None:
    pytest.importorskip("onnx", reason="needs the extra `torch`")
    from dsrs.classifiers import exported_to_onnx

    path = tmp_path / "net.onnx"
    path.write_bytes(exported_to_onnx(network(), SHAPE, (0.0, 1.0), "net"))
    here, there = (load_classifier(path, device=place) for place in ("cpu", "cpu:0"))
    assert (here.makes_noise, there.makes_noise) == (False, True)
    found = [sample_input(model, X, PLAN, 0, 1).votes for model in (here, there)]
    assert found[0] == found[1]
    assert here.fingerprint == there.fingerprint


def test_several_devices_are_named_apart() -> None:
    from dsrs.classifiers import devices_of

    assert devices_of("cuda:0,cuda:1") == ("cuda:0", "cuda:1")
    assert devices_of("cpu") == ("cpu",)
    for text in ("cuda:0,cuda:0", "cpu:0,cuda:0", "cuda:0,", "mps:all"):
        with pytest.raises(InvalidInput, match="`device`"):
            devices_of(text)


def test_cuda_all_is_every_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    from dsrs.classifiers import devices_of

    monkeypatch.setattr(torch.cuda, "device_count", lambda: 3)
    assert devices_of("cuda:all") == ("cuda:0", "cuda:1", "cuda:2")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    with pytest.raises(InvalidInput, match="sees no CUDA device"):
        devices_of("cuda:all")
