"""Learnt routers: predictions that follow by hand, collapse that is named, a folder that works."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import special

from dsrs.classifiers import load_classifier
from dsrs.classifiers.routed import Member
from dsrs.cli.main import main
from dsrs.confidence import clopper_pearson_lower
from dsrs.errors import InvalidInput
from dsrs.routing.forecast import RouterLook, routed_radii
from dsrs.routing.learning import RouterHead, RoutingGoal, class_table, table_head
from dsrs.routing.training import predict_router, write_router
from dsrs.tuning import Objective

N, ALPHA, VOTES = 10_000, 0.001, 64
GOAL = RoutingGoal(Objective(), N, ALPHA)
SIGMAS = (0.25, 1.0)


def planted_look(inputs: int, wide_classes: tuple[int, ...]) -> RouterLook:
    """Four classes, seen nearly always; those named bear the large noise, the others do not."""
    rng = np.random.default_rng(0)
    labels = np.arange(inputs) % 4
    wide = np.isin(labels, wide_classes)
    shares = np.stack([np.full(inputs, 0.99), np.where(wide, 0.98, 0.3)], axis=1)
    seen = np.where(rng.random((inputs, VOTES)) < 0.995, labels[:, None], rng.integers(4))
    logarithms = np.log(np.where(np.eye(4)[seen] > 0, 0.97, 0.01)).astype(np.float32)
    return RouterLook(SIGMAS, 1.0, shares, logarithms, labels)


def test_a_sure_router_gives_each_input_the_radius_of_its_expert() -> None:
    look = planted_look(40, (0, 1))
    answers = np.repeat(np.isin(look.labels, (0, 1))[:, None], VOTES, axis=1).astype(np.int64)
    found = routed_radii(look, answers, N, ALPHA)
    for row, label in enumerate(look.labels):
        place = int(label in (0, 1))
        hits = int(N * look.shares[row, place])
        own = SIGMAS[place] * special.ndtri(clopper_pearson_lower(hits, N, ALPHA))
        assert found.radii[row] == pytest.approx(own)
        assert found.named[row] == place


def test_the_published_form_is_never_larger() -> None:
    look = planted_look(200, (0, 1))
    answers = np.random.default_rng(1).integers(0, 2, (200, VOTES))
    found = routed_radii(look, answers, N, ALPHA)
    assert np.all(found.published <= found.radii + 1e-12)
    assert found.published.mean() < found.radii.mean()


def test_the_table_from_class_to_expert_is_learnt_and_pays() -> None:
    look = planted_look(200, (0, 1))
    assert class_table(look, GOAL).tolist() == [1, 1, 0, 0]
    assert np.argmax(table_head(look, GOAL).weights, axis=1).tolist() == [1, 1, 0, 0]
    found = predict_router(look, GOAL)
    assert found.pays
    assert 0.5 < found.kept <= 1
    assert sum(found.routes) == 200
    assert found.low <= found.routed - found.single <= found.high


@pytest.mark.parametrize("wide", [(), (0, 1, 2, 3)])
def test_no_router_is_trained_where_one_noise_is_best_everywhere(wide: tuple[int, ...]) -> None:
    found = predict_router(planted_look(100, wide), GOAL)
    assert not found.pays
    assert "routing cannot pay" in found.reason()


def test_a_router_that_cannot_see_what_decides_is_not_written() -> None:
    """Which expert is best has nothing to do with the class."""
    look = planted_look(200, (0, 1))
    shuffled = np.random.default_rng(2).permutation(200)
    blind = RouterLook(SIGMAS, 1.0, look.shares[shuffled], look.logarithms, look.labels)
    found = predict_router(blind, GOAL)
    assert found.oracle_gain > 0.05
    assert not found.pays
    assert found.reason()


def test_few_inputs_are_refused() -> None:
    with pytest.raises(InvalidInput, match="at least 20 inputs"):
        predict_router(planted_look(12, (0,)), GOAL)


def test_a_trained_router_is_a_folder_that_answers_as_predicted(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    ends = [helper.make_tensor_value_info(name, kind, ["n", 4]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", ends[:1], ends[1:])
    opsets = [helper.make_opsetid("", 13)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), tmp_path / "net.onnx")
    experts = [Member(str(tmp_path / "net.onnx"), sigma) for sigma in SIGMAS]
    head = RouterHead(64.0, np.eye(2)[[1, 1, 0, 0]])
    write_router(tmp_path / "routed", experts, head, {"why": "test"})
    router = load_classifier(tmp_path / "routed" / "router.onnx")
    assert router.classify(5 * np.eye(4, dtype=np.float32)).tolist() == [1, 1, 0, 0]
    whole = load_classifier(tmp_path / "routed")
    assert whole.num_classes == 4
    assert json.loads((tmp_path / "routed" / "card.json").read_text()) == {"why": "test"}

    # The command on the same network: one noise is best for all, so nothing is written.
    x = np.eye(4, dtype=np.float32)[np.arange(40) % 4]
    np.savez(tmp_path / "data.npz", images=x, labels=np.arange(40) % 4)
    words = ["route", "--model", str(tmp_path / "net.onnx"), "--sigmas", "0.1,0.12"]
    words += ["--data", str(tmp_path / "data.npz"), "--indices", "0-39", "--votes", "32"]
    assert main([*words, "--output", str(tmp_path / "new")]) == 1
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("card", "message"),
    [
        ("{", "cannot be read as a card of `dsrs train`"),
        ("[]", "is not a card of `dsrs train`"),
        ('{"held_out": null}', "says which inputs were held out"),
        ('{"held_out": {"indices": ["a"]}}', "must list inputs by their numbers"),
        ('{"held_out": {"indices": []}}', "a router needs inputs"),
    ],
)
@pytest.mark.parametrize("model", ["expert", "expert/model.onnx"])
def test_the_card_of_a_model_is_found_in_its_folder_and_read_with_care(
    card: str,
    message: str,
    model: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    np.savez("data.npz", images=np.eye(4, dtype=np.float32), labels=np.arange(4))
    Path("expert").mkdir()
    Path("expert/model.onnx").touch()
    Path("expert/card.json").write_text(card)
    words = ["route", "--model", model, "--sigmas", "0.1,0.2", "--data", "data.npz"]
    assert main([*words, "--output", "routed"]) == 2
    assert message in capsys.readouterr().err
