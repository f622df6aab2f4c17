"""What `--json` prints. `output.schema.json` beside this file says what every field means."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from dsrs.files import to_json


def print_json(shape: str, document: Any, indent: int | None = 2) -> None:
    """Print the answer of a command, in which infinity is the text `inf`.

    Args:
        shape: its entry in the schema, such as `gate` or `show-index`.
        document: what to print.
        indent: spaces of each level; None: all in one line.
    """
    # What a record's own `to_dict` gives may still hold infinity.
    plain = to_json(to_json(document))
    print(json.dumps(checked(shape, plain), indent=indent, allow_nan=False))


def checked(shape: str, document: Any) -> Any:
    """The document as it is: tests validate it here against the schema."""
    return document


def schema_of(shape: str) -> dict[str, Any]:
    """The JSON schema of what a command prints, whole in itself.

    Args:
        shape: an entry of `$defs` in the schema, such as `gate` or `show-index`.
    """
    schema = json.loads(files("dsrs.cli").joinpath("output.schema.json").read_text("utf-8"))
    certificate = files("dsrs.proofs").joinpath("certificate.schema.json").read_text("utf-8")
    schema["$defs"]["certificate"] = json.loads(certificate)
    return {**schema, "$ref": f"#/$defs/{shape}"}
