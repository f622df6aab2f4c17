"""Model files that try to do more than arithmetic: write files, import modules, run at loading."""

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
from dsrs.classifiers.exported_archive import OPERATOR
from dsrs.classifiers.script_archive import check_source, registered_operators
from dsrs.classifiers.tensor_operators import (
    HIGHER_ORDER_OPERATORS,
    SCRIPT_NODES,
    TENSOR_OPERATORS,
)
from dsrs.errors import ClassifierError

torch = pytest.importorskip("torch", reason="needs the extra `torch`")

SHAPE = (3, 4)
ONES = np.zeros((2, *SHAPE), np.float32)
SOURCE = """\
class Net(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _is_full_backward_hook : Optional[bool]
{constant}  def forward(self: __torch__.Net,
    x: Tensor{default}) -> Tensor:
{body}    return torch.slice(torch.flatten(x, 1), 1, None, 3)
"""


class Overwriting(torch.nn.Module):  # type: ignore[misc, name-defined]
    """Copies its input over a file."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = path

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mapped = torch.from_file(self.path, True, 6)
        mapped.copy_(x.flatten()[:6])
        return x.flatten(1)[:, :3] + mapped.sum()


def scripted(path: Path, module: Any) -> Path:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.script(module.eval()).save(path)
    return path


def with_source(path: Path, constant: str = "", default: str = "", body: str = "") -> Path:
    """A TorchScript file whose class `Net` has this code."""

    class Net(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.flatten(1)[:, :3]

    honest = scripted(path.with_name("honest.ts"), Net())
    source = SOURCE.format(constant=constant, default=default, body=body)
    with zipfile.ZipFile(honest) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            inner = name.partition("/")[2]
            if inner.startswith("code/") and inner.endswith(".py"):
                source = source.replace("__torch__.Net", class_name(old.read(name)))
                new.writestr(name, source)
            elif not inner.endswith("debug_pkl"):
                new.writestr(name, old.read(name))
    return path


def class_name(code: bytes) -> str:
    return code.decode().split("self: ")[1].split(",")[0]


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


def test_a_scripted_module_cannot_write_over_a_file(tmp_path: Path) -> None:
    victim = tmp_path / "settings.py"
    victim.write_bytes(b"KEEP = 'this text'\n" * 2)
    refused(scripted(tmp_path / "harmless.pt", Overwriting(str(victim))))
    assert victim.read_bytes() == b"KEEP = 'this text'\n" * 2


@pytest.mark.parametrize(
    "place",
    [
        {"default": ', y: Tensor=torch.from_file("{}", True, 9)'},
        {"default": ", y: List[int]=[len([1])]"},
        {"constant": '  q : Final[Tensor] = torch.from_file("{}", True, 9)\n'},
        {"body": '    y = torch.fill_(torch.from_file("{}", True, 9), 1.)\n'},
        {"body": '    f = torch.from_file\n    y = torch.fill_(f("{}", True, 9), 1.)\n'},
        {"body": '    f = getattr(torch, "from_file")\n    y = f("{}", True, 9)\n'},
        {"body": '    y = ops.aten.from_file("{}", True, 9)\n'},
        {"body": '    o = ops\n    y = o.aten.from_file("{}", True, 9)\n'},
        {"body": '    if torch.gt(torch.dim(x), 0):\n      torch.save(x, "{}")\n'},
        {"body": '    print("{}")\n'},
        {"body": "    y = '''{}'''\n"},
        {"body": "    q = __torch__.torch.classes.quantized.Conv2dPackedParamsBase(x)\n"},
        {"body": "    pass # {}\n"},
        {"body": "  def __setstate__(self: __torch__.Net, s: str) -> NoneType:\n    return None\n"},
    ],
)
def test_source_of_torchscript_is_checked_before_pytorch_reads_it(
    tmp_path: Path, place: dict[str, str]
) -> None:
    made = tmp_path / "made"
    path = tmp_path / "net.ts"
    refused(with_source(path, **{name: text.format(made) for name, text in place.items()}))
    assert not made.exists()


def test_the_same_source_without_the_attack_is_read(tmp_path: Path) -> None:
    path = with_source(
        tmp_path / "net.ts",
        constant='  classes : Final[int] = 3\n  kind : Final[str] = "it\\\'s"\n',
        default=", y: Optional[Tensor]=None, z: Tuple[int, int]=(1, 1)",
        body="    for i in range(torch.len([1, 2])):\n      y0 = torch.add(x, i)\n",
    )
    assert load_classifier(path, input_shape=SHAPE).classify(ONES).tolist() == [0, 0]


def test_graphs_are_walked_down_to_the_last_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second check, which stands alone when the first one is taken away."""
    monkeypatch.setattr("dsrs.classifiers.script_archive.check_source", lambda *_: None)
    made = tmp_path / "made"

    class Nested(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, path: str) -> None:
            super().__init__()
            self.inner = Overwriting(path)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for _ in range(2):
                if bool(x.sum() > -1):
                    x = x + self.inner(x).sum()
            return x.flatten(1)[:, :3]

    with pytest.raises(ClassifierError, match="aten::from_file"):
        load_classifier(scripted(tmp_path / "net.ts", Nested(str(made))), input_shape=SHAPE)
    assert not made.exists()


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
    registered = registered_operators(torch)
    schemas = {schema.name for schema in torch._C._jit_get_all_schemas()}
    assert len(schemas) > 2000
    accepted = set()
    for full in schemas:
        space, _, name = full.partition("::")
        assert bool(OPERATOR.fullmatch(f"torch.ops.{space}.{name}.default")) == (
            space == "aten" and name in TENSOR_OPERATORS
        )
        texts = [f"    ops.{space}.{name}(x)\n", f"    f = ops.{space}.{name}\n"]
        texts += [f"    torch.{name}(x)\n", f"    f = torch.{name}\n"] * (space == "aten")
        for text in texts:
            try:
                check_source("def f(x):\n" + text, "source", registered)
            except ClassifierError:
                continue
            accepted.add(full)
    allowed = {f"aten::{name}" for name in TENSOR_OPERATORS}
    allowed |= {f"prim::{name}" for name in SCRIPT_NODES}
    assert accepted == allowed & schemas
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
