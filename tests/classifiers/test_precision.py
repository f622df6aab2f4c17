"""The precision of a PyTorch module is a part of the model: of its answers and its fingerprint."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, get_args

import numpy as np
import pytest

import dsrs
from dsrs.certifying import sample_input
from dsrs.classifiers import (
    MODEL_PRECISIONS,
    ModelOptions,
    Precision,
    classifier_of,
    denoised,
    denoiser_from,
    ensemble,
    fingerprint_of_module,
    from_callable,
    from_torch,
    load_classifier,
    refuse_other_precision,
)
from dsrs.cli.model_options import PRECISION_CHOICES
from dsrs.errors import ClassifierError, InvalidInput
from dsrs.laws import GeneralizedGaussian, Grid
from dsrs.methods import Plan

pytest.importorskip("torch", reason="needs the extra `torch`")
import torch

SHAPE = (2, 6, 6)


def network() -> Any:
    torch.manual_seed(0)
    layers = torch.nn.Conv2d(2, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU()
    return torch.nn.Sequential(*layers, torch.nn.Flatten(), torch.nn.Linear(64, 5)).eval()


def rows(count: int = 7) -> Any:
    return np.random.default_rng(1).random((count, *SHAPE), dtype=np.float32)


def test_float32_is_the_module_as_it_was() -> None:
    module = network()
    model = from_torch(module, SHAPE, engine="eager")
    assert model.fingerprint == fingerprint_of_module(module)
    assert model.description.startswith("PyTorch Sequential (cpu, eager);")


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_half_precision_answers_as_the_converted_module(precision: Precision) -> None:
    module, kind = network(), getattr(torch, precision)
    before = {name: values.clone() for name, values in module.state_dict().items()}
    model = from_torch(module, SHAPE, precision=precision)
    with torch.inference_mode():
        expected = network().to(kind)(torch.from_numpy(rows()).to(kind)).float().numpy()
        plain = module(torch.from_numpy(rows())).numpy()
    # Channels last adds in another order: one unit in the last place of 8 or 11 bits.
    np.testing.assert_allclose(model.scores(rows()), expected, rtol=0, atol=0.02)
    assert not np.array_equal(model.scores(rows()), plain)
    assert model.fingerprint == f"{fingerprint_of_module(module)} {precision}"
    assert f"(cpu, {precision})" in model.description
    assert all(torch.equal(values, before[name]) for name, values in module.state_dict().items())


def test_votes_in_bfloat16_do_not_depend_on_where_the_noise_is_made() -> None:
    plan = Plan(GeneralizedGaussian(72, 0.5), ("np",), n=300, batch=32).replace(
        grid=Grid.of_bounds((0.0, 1.0))
    )
    here, there, other = (
        sample_input(model, rows(1)[0], plan, 0, 1)
        for model in (
            from_torch(network(), SHAPE, device="cpu", precision="bfloat16"),
            from_torch(network(), SHAPE, device="cpu:0", precision="bfloat16"),
            from_torch(network(), SHAPE, device="cpu:0"),
        )
    )
    assert here.votes == there.votes != other.votes


def test_a_denoiser_and_an_ensemble_keep_the_precision() -> None:
    model = from_torch(network(), SHAPE, precision="bfloat16")
    front = denoiser_from("clip", SHAPE, (0.0, 1.0))
    behind = denoised(model, front)
    assert behind.fingerprint == f"{model.fingerprint} {front.fingerprint}"
    np.testing.assert_array_equal(behind.scores(rows()), model.scores(rows()))
    both = ensemble([model, from_torch(network(), SHAPE)])
    assert model.fingerprint in both.fingerprint
    assert both.fingerprint != ensemble([from_torch(network(), SHAPE)] * 2).fingerprint


def test_gradients_are_those_of_the_converted_module() -> None:
    scores = np.eye(5)[2]
    slopes = []
    for precision in ("float32", "bfloat16"):
        model = classifier_of(
            network(), "net", ModelOptions(input_shape=SHAPE, precision=precision)
        )
        assert model.score_gradient is not None
        slopes.append(model.score_gradient(rows(), scores))
    scale = np.abs(slopes[0]).max()
    assert 0 < np.abs(slopes[1] - slopes[0]).max() < 0.05 * scale


def test_compiled_code_is_called_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def fake(module: Any, **options: Any) -> Any:
        calls.append(options)
        return lambda batch: -module(batch)

    monkeypatch.setattr(torch, "compile", fake)
    model = from_torch(network(), SHAPE, engine="compiled", precision="bfloat16")
    assert calls == [{"dynamic": False, "fullgraph": True}]
    assert model.fingerprint.endswith(" bfloat16 compiled")
    plain = from_torch(network(), SHAPE, precision="bfloat16")
    np.testing.assert_array_equal(model.scores(rows()), -plain.scores(rows()))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # PyTorch warns of its own internals
def test_compiled_code_answers_as_the_module() -> None:
    model = from_torch(network(), SHAPE, engine="compiled")
    plain = from_torch(network(), SHAPE, engine="eager")
    np.testing.assert_allclose(model.scores(rows()), plain.scores(rows()), rtol=0, atol=1e-5)
    # More sizes than PyTorch compiles before it would go on uncompiled, in silence.
    with pytest.raises(ClassifierError, match="ecompil"):
        _ = [model.scores(rows(count)) for count in range(1, 20)]


@pytest.mark.slow
def test_what_cannot_be_compiled_as_a_whole_is_refused() -> None:
    class Broken(torch.nn.Module):
        def forward(self, batch: Any) -> Any:
            total = batch.flatten(1).sum(1)
            sign = 1.0 if total.sum().item() > 0 else -1.0
            return torch.stack([total * sign, -total], dim=1)

    with pytest.raises(ClassifierError, match=r"Unsupported|data-dependent"):
        from_torch(Broken().eval(), SHAPE, engine="compiled")


def test_what_a_model_cannot_do_is_refused(tmp_path: Any) -> None:
    with pytest.raises(InvalidInput, match="'tf32' is a mode of NVIDIA GPUs"):
        from_torch(network(), SHAPE, precision="tf32")
    with pytest.raises(InvalidInput, match="must be one of float32, tf32, bfloat16, float16"):
        from_torch(network(), SHAPE, precision="double")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="is for float32 on the CPU, got bfloat16"):
        from_torch(network(), SHAPE, precision="bfloat16", engine="onnx")
    with pytest.raises(InvalidInput, match=r"`precision` 'bfloat16' goes with .*net.onnx"):
        load_classifier("net.onnx", precision="bfloat16")
    with pytest.raises(InvalidInput, match=r"`engine` 'compiled' goes with .*net.onnx"):
        load_classifier("net.onnx", engine="compiled")
    function = from_callable(lambda batch: batch.reshape(len(batch), -1)[:, :3], SHAPE)
    with pytest.raises(InvalidInput, match=r"\(bfloat16 compiled\) are for a PyTorch module"):
        classifier_of(function, "mine", ModelOptions(precision="bfloat16", engine="compiled"))


def test_other_code_may_not_switch_tf32(monkeypatch: pytest.MonkeyPatch) -> None:
    flags = SimpleNamespace(cudnn=SimpleNamespace(allow_tf32=False), cuda=SimpleNamespace())
    flags.cuda.matmul = SimpleNamespace(allow_tf32=False)
    monkeypatch.setattr(torch, "backends", flags)
    refuse_other_precision("float32", "net")
    with pytest.raises(ClassifierError, match=r"to be run in tf32, but .* switched tf32 off"):
        refuse_other_precision("tf32", "net")
    flags.cudnn.allow_tf32 = True
    with pytest.raises(ClassifierError, match=r"to be run in float32, but .* switched tf32 on"):
        refuse_other_precision("float32", "net")
    refuse_other_precision("bfloat16", "net")


def test_other_code_may_not_change_float32_on_the_processor() -> None:
    model = from_torch(network(), SHAPE, engine="eager")
    model.classify(rows())
    torch.set_float32_matmul_precision("medium")
    try:
        with pytest.raises(ClassifierError, match=r"called torch\.set_float32_matmul"):
            model.classify(rows())
    finally:
        torch.set_float32_matmul_precision("highest")


def test_the_command_line_knows_every_precision() -> None:
    assert PRECISION_CHOICES == MODEL_PRECISIONS == get_args(Precision)


def test_smooth_takes_the_precision_of_a_module_and_of_a_radius() -> None:
    half = dsrs.smooth(network(), 0.5, precision="bfloat16", input_shape=SHAPE)
    assert half.classifier.fingerprint.endswith(" bfloat16")
    near = dsrs.smooth(network(), 0.5, precision=0.05, input_shape=SHAPE)
    assert near.plan.precision == 0.05
    assert near.classifier.fingerprint == fingerprint_of_module(network())
