"""Pages of the documentation site that are made from the code: Python names and JSON fields.

A hook of MkDocs (mkdocs.yml). It adds `api.md`, `json.md`, the pages outside docs/ that the site
shows as its own, and every other file outside docs/ that a page links to, so that the site is whole
without a network.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dsrs

ROOT = Path(__file__).parents[1]
# Pages outside docs/, and what they are called on the site.
OUTER_PAGES = {
    "CHANGELOG.md": "CHANGELOG.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "SECURITY.md": "SECURITY.md",
    "checker/FORMAT.md": "format.md",
}
LINK = re.compile(r"(?<=\]\()(?:\.\./)([^)#]+)")
LONGEST_VALUE = 200  # characters of a constant that are shown
MENTIONED = re.compile(r"\b(dsrs\.[a-z]+)\.(\w+)")
ARGUMENTS = re.compile(r"^(Args|Attributes):$", re.M)
PYTHON = re.compile(r"^```python\n(.*?)^```", re.M | re.S)


def public_names() -> dict[str, list[str]]:
    """Module -> names: those of `dsrs`, and of its packages what a program is likely to call.

    That is what lists its arguments, and what a page imports or mentions; packages export more, for
    each other.
    """
    packages = {*dir(dsrs)} - {*dsrs.__all__}
    found = {"dsrs": {*dsrs.__all__}}
    for package in sorted(packages):
        module = importlib.import_module(f"dsrs.{package}")
        called = {name for name in module.__all__ if _lists_arguments(getattr(module, name))}
        found[module.__name__] = called
    for module_name, name in _used_on_pages():
        known = importlib.import_module(module_name).__all__ if module_name in found else ()
        if name in known:
            found[module_name].add(name)
    return {module: sorted(names) for module, names in found.items() if names}


def _lists_arguments(value: Any) -> bool:
    return callable(value) and bool(ARGUMENTS.search(inspect.getdoc(value) or ""))


def _used_on_pages() -> Iterator[tuple[str, str]]:
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        text = page.read_text()
        yield from MENTIONED.findall(text)
        for block in PYTHON.findall(text):
            for node in ast.walk(ast.parse(block)):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dsrs"):
                    yield from ((str(node.module), alias.name) for alias in node.names)


def api_page() -> str:
    """The page of public names: a directive of mkdocstrings for each, or a link."""
    parts = [
        "# Python names\n",
        "Made from the docstrings of the code. `dsrs` itself has what most programs need.\n",
    ]
    shown: dict[str, str] = {}
    for module, names in public_names().items():
        about = inspect.getdoc(importlib.import_module(module)) or ""
        parts.append(f"## {module} {{: #{module} }}\n\n{about.partition(chr(10))[0]}\n")
        for name in names:
            full, home = f"{module}.{name}", _home(module, name)
            if home is None:
                parts.append(_constant(module, name))
            elif home in shown:
                parts.append(f"### {full} {{: #{full} }}\n\nSee [{shown[home]}](#{shown[home]}).\n")
            else:
                shown[home] = full
                anchor = "" if home == full else f'<a id="{full}"></a>\n\n'
                options = f"    options:\n      heading: {full}\n      toc_label: {name}\n"
                parts.append(f"{anchor}::: {home}\n{options}")
    return "\n".join(parts)


def _home(module: str, name: str) -> str | None:
    """Where a class or a function is defined; None for a constant."""
    value = getattr(importlib.import_module(module), name)
    home = getattr(value, "__module__", None)
    if (
        not callable(value)
        or not hasattr(value, "__qualname__")
        or not str(home).startswith("dsrs")
    ):
        return None
    return f"{home}.{value.__qualname__}"


def _constant(module: str, name: str) -> str:
    value = getattr(importlib.import_module(module), name)
    text = repr(value) if len(repr(value)) <= LONGEST_VALUE else type(value).__name__
    return f"### {module}.{name} {{: #{module}.{name} }}\n\n`{text}`\n"


def schemas() -> dict[str, dict[str, Any]]:
    """File name -> JSON schema, of all that the package ships."""
    files = sorted((ROOT / "src").rglob("*.schema.json"))
    return {file.name: json.loads(file.read_text()) for file in files}


def json_page() -> str:
    """The page of JSON fields, from the schemas."""
    parts = [
        "# JSON\n",
        "Every field that commands print with `--json`, made from the JSON schemas in the package. "
        "Tests hold the commands to them: a field that is not listed here is never printed. "
        'A program gets a schema by `dsrs.cli.output.schema_of("gate")` and can hand it to '
        "`jsonschema.validate(document, schema)`.\n",
    ]
    for name, schema in schemas().items():
        head = f"## {schema['title']} {{: #{_anchor(name)} }}"
        parts.append(f"{head}\n\n{_text(schema)}\n\nSchema: `{name}`\n")
        parts.append(_table(schema, name))
        for key, part in schema.get("$defs", {}).items():
            shape = f' Schema: `schema_of("{key}")`.' if "title" in part else ""
            head = f"### {part.get('title', key)} {{: #{_anchor(name, key)} }}"
            parts.append(f"{head}\n\n{_text(part)}{shape}\n")
            parts.append(_table(part, name) or f"{_kind(part, name)}\n")
    return "\n".join(parts)


def _text(part: dict[str, Any]) -> str:
    return str(part.get("description", "")).replace("|", "\\|")


def _anchor(schema: str, *key: str) -> str:
    return "-".join([schema.partition(".")[0], *key])


def _table(part: dict[str, Any], name: str) -> str:
    rows = [
        f"| `{path}` | {_kind(field, name)} | {_text(field)} |" for path, field in fields_of(part)
    ]
    return "\n".join(["| field | type | meaning |", "|---|---|---|", *rows, ""]) if rows else ""


def fields_of(part: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Path and schema of each field, those of nested objects and of items of lists as well."""
    for key, field in part.get("properties", {}).items():
        yield prefix + key, field
        yield from fields_of(field, f"{prefix}{key}.")
    for field in part.get("anyOf", ()):
        yield from fields_of(field, prefix)
    if isinstance(part.get("items"), dict):
        yield from fields_of(part["items"], f"{prefix.removesuffix('.')}[].")
    if isinstance(part.get("additionalProperties"), dict):
        yield from fields_of(part["additionalProperties"], f"{prefix}NAME.")


def _kind(field: dict[str, Any], name: str) -> str:
    """The type of a field in words, with a link where it has a section of its own."""
    if "$ref" in field:
        file, _, pointer = field["$ref"].partition("#")
        home = _anchor(file.removeprefix("urn:dsrs:") or name)
        key = pointer.rpartition("/")[2]
        if pointer.startswith("/$defs/"):
            return f"[{key}](#{_anchor(home, key)})"
        return f"`{key}` of a [{home}](#{home})" if key else f"[{home}](#{home})"
    if "anyOf" in field:
        return " or ".join(_kind(choice, name) for choice in field["anyOf"])
    if "const" in field or "enum" in field:
        values = field.get("enum", [field.get("const")])
        return ", ".join(f"`{json.dumps(value)}`" for value in values)
    kinds = field.get("type", "any value")
    word = " or ".join(kinds) if isinstance(kinds, list) else str(kinds)
    if "items" in field and "properties" not in field["items"]:
        return f"{word} of {_kind(field['items'], name)}"
    limits = {"minimum": "at least", "exclusiveMinimum": "above", "maximum": "at most"}
    bounds = [f"{text} {field[key]}" for key, text in limits.items() if key in field]
    return ", ".join([word, *bounds])


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are made here, and what pages link to outside of docs/."""
    from mkdocs.structure.files import File

    made = {"api.md": api_page(), "json.md": json_page()}
    for name, shown in OUTER_PAGES.items():
        made[shown] = (ROOT / name).read_text().replace("](docs/", "](")
    for name, content in made.items():
        files.append(File.generated(config, name, content=content))
    linked = {
        target
        for page in [*(ROOT / "docs").glob("*.md"), *(ROOT / name for name in OUTER_PAGES)]
        for target in LINK.findall(page.read_text())
        if target not in OUTER_PAGES
    }
    for target in sorted(linked):
        files.append(File.generated(config, f"files/{target}", abs_src_path=str(ROOT / target)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Links that leave docs/ lead to the copies that `on_files` has added."""

    def inside(match: re.Match[str]) -> str:
        return OUTER_PAGES.get(match[1], f"files/{match[1]}")

    return LINK.sub(inside, markdown)
