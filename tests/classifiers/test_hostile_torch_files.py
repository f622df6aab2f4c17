"""Model files that try to do more than arithmetic: write files, import modules."""

from __future__ import annotations

import json
import sys
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dsrs.classifiers import load_classifier
from dsrs.classifiers.torch_file import HIGHER_ORDER_OPERATORS, OPERATOR, TENSOR_OPERATORS
from dsrs.errors import ClassifierError

torch = pytest.importorskip("torch", reason="needs the extra `torch`")

SHAPE = (3, 4)
ONES = np.zeros((2, *SHAPE), np.float32)


def edited(path: Path, change: Callable[[Any], None]) -> Path:
    """A .pt2 archive of a small network, its program changed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(12, 3)).eval()
        program = torch.export.export(module, (torch.rand(2, *SHAPE),))
        torch.export.save(program, path.with_name("honest.pt2"))
    with (
        zipfile.ZipFile(path.with_name("honest.pt2")) as old,
        zipfile.ZipFile(path, "w") as new,
    ):
        for name in old.namelist():
            content = old.read(name)
            if name.endswith("models/model.json"):
                parsed = json.loads(content)
                change(parsed)
                content = json.dumps(parsed).encode()
            new.writestr(name, content)
    return path


def refused(path: Path) -> None:
    with pytest.raises(ClassifierError, match="export the model to ONNX"):
        load_classifier(path, input_shape=SHAPE).classify(ONES)


def test_an_exported_program_cannot_make_a_file(tmp_path: Path) -> None:
    made = tmp_path / "made"

    def attack(program: Any) -> None:
        node = program["graph_module"]["graph"]["nodes"][-1]
        node["target"] = "torch.ops.aten.from_file.default"
        node["inputs"] = [
            {"name": "filename", "arg": {"as_string": str(made)}, "kind": 1},
            {"name": "shared", "arg": {"as_bool": True}, "kind": 1},
            {"name": "size", "arg": {"as_int": 6}, "kind": 1},
        ]

    refused(edited(tmp_path / "net.pt2", attack))
    assert not made.exists()


@pytest.mark.parametrize("kind", ["defaultdict", "enum", "operator"])
def test_an_exported_program_cannot_import_modules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    (tmp_path / "planted_module.py").write_text("made = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    contexts = {
        "defaultdict": (
            "collections.defaultdict",
            {
                "default_factory_module": "planted_module",
                "default_factory_name": "made",
                "dict_context": [],
            },
        ),
        "enum": (
            "builtins.dict",
            json.dumps([{"__enum__": True, "fqn": "planted_module:Kind", "name": "A"}]),
        ),
    }

    def attack(program: Any) -> None:
        if kind == "operator":
            node = program["graph_module"]["graph"]["nodes"][-1]
            node["inputs"][0]["arg"] = {"as_operator": "torch.os.system"}
            return
        signature = program["graph_module"]["module_call_graph"][0]["signature"]
        tree = json.loads(signature["in_spec"])
        name, context = contexts[kind]
        tree[1] |= {"type": name, "context": context}
        signature["in_spec"] = json.dumps(tree)

    refused(edited(tmp_path / "net.pt2", attack))
    assert "planted_module" not in sys.modules


def test_every_registered_operator_off_the_list_is_refused() -> None:
    schemas = {schema.name for schema in torch._C._jit_get_all_schemas()}
    assert len(schemas) > 2000
    for full in schemas:
        space, _, name = full.partition("::")
        assert bool(OPERATOR.fullmatch(f"torch.ops.{space}.{name}.default")) == (
            space == "aten" and name in TENSOR_OPERATORS
        )
    assert {f"aten::{name}" for name in TENSOR_OPERATORS} <= schemas


def test_listed_operators_take_no_file_and_no_handle() -> None:
    # Text that listed operators take: modes, equations and messages, and strings of the language.
    harmless = {"mode", "rounding_mode", "reduce", "padding", "equation", "indexing", "approximate"}
    harmless |= {"message", "assert_msg", "ord", "self", "a", "b", "t", "l", "el", "s", "type"}
    harmless |= {"substr", "chars", "old", "new", "key", "idx", "item", "input", "inputs", "dict"}
    harmless |= {"separator", "values", "to_add", "string"}
    for schema in torch._C._jit_get_all_schemas():
        space, _, name = schema.name.partition("::")
        if space != "aten" or name not in TENSOR_OPERATORS:
            continue
        for argument in schema.arguments:
            kind = str(argument.type)
            assert not any(word in kind for word in ("Storage", "Stream", "__torch__", "Future"))
            assert "str" not in kind or argument.name in harmless, schema


def test_every_higher_order_operator_off_the_list_is_refused() -> None:
    names = set(torch._ops._higher_order_ops)
    assert names >= HIGHER_ORDER_OPERATORS
    for name in names:
        found = OPERATOR.fullmatch(f"torch.ops.higher_order.{name}")
        assert bool(found) == (name in HIGHER_ORDER_OPERATORS)
