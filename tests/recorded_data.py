"""The recorded runs of the original experiments, where they are at hand."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

REFERENCE = Path(__file__).parents[2] / "shared" / "reference"


@pytest.fixture(scope="session")
def reference() -> Path:
    """The folder of the compact tables."""
    if not (REFERENCE / "double_sampling.csv.gz").exists():
        pytest.skip("the recorded certificates are not at ../shared/reference")
    return REFERENCE


@pytest.fixture(scope="session")
def original_logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The original text logs, unpacked into a temporary folder."""
    archive = REFERENCE / "original_logs.tar.xz"
    if not archive.exists():
        pytest.skip("the original logs are not at ../shared/reference")
    folder = tmp_path_factory.mktemp("original-logs")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    return folder
