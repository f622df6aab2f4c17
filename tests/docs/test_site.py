"""The documentation site: it is built without a warning, and its reference is whole."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from html import unescape
from pathlib import Path
from types import ModuleType

import pytest

import dsrs
from dsrs.cli.main import known_commands

pytest.importorskip("mkdocs", reason="needs the extra `docs` (Python 3.11 or later)")
pytest.importorskip("material")
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def pages() -> ModuleType:
    spec = importlib.util.spec_from_file_location("site_pages", ROOT / "scripts" / "site_pages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    built = subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stderr
    assert "WARNING" not in built.stderr
    return folder


def anchors(page: Path) -> set[str]:
    return set(re.findall(r'id="([^"]+)"', page.read_text()))


def test_every_public_name_is_in_the_reference(site: Path, pages: ModuleType) -> None:
    named = {f"{module}.{name}" for module, names in pages.public_names().items() for name in names}
    assert {f"dsrs.{name}" for name in dsrs.__all__} <= named
    assert "dsrs.certifying.certify_run" in named  # an example imports it
    assert not named - anchors(site / "api.html")


def test_every_command_and_option_is_in_the_reference(site: Path) -> None:
    text = unescape(re.sub(r"<[^>]+>", "", (site / "commands.html").read_text()))
    for command in known_commands().leaves():
        part = text.partition(f"\n{command.name}¶")[2]
        assert part, f"`{command.name}` has no section"
        for option in command.all_options():
            assert option.help.strip(), f"{command.name} {option.name} has no text"
            assert not option.named or re.search(rf"{option.name}\b", part), option.name


def test_every_field_of_the_schemas_is_in_the_reference(site: Path, pages: ModuleType) -> None:
    text = (site / "json.html").read_text()
    shown = set(re.findall(r"<code>([^<]+)</code>", text))
    fields = [
        path
        for schema in pages.schemas().values()
        for part in (schema, *schema.get("$defs", {}).values())
        for path, _ in pages.fields_of(part)
    ]
    assert {"radius", "law.sigma", "steps[].dual_bound"} & set(fields) >= {"radius", "law.sigma"}
    assert not set(fields) - shown


def test_the_site_loads_nothing_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        loaded = re.findall(
            r'<(?:script|img|link rel="stylesheet")[^>]+"(https?://[^"]+)"', page.read_text()
        )
        assert not loaded, f"{page.name} loads {loaded}"


def test_a_page_that_is_not_in_the_navigation_is_found(pages: ModuleType) -> None:
    listed = (ROOT / "mkdocs.yml").read_text()
    for page in [*(ROOT / "docs").glob("*.md"), *map(Path, pages.OUTER_PAGES.values())]:
        assert f": {page.name}\n" in listed, f"{page.name} is not in mkdocs.yml"
