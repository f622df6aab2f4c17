"""Folders for new files, which are removed again if no file was written."""

from __future__ import annotations

from pathlib import Path


def make_folders(folder: Path) -> list[Path]:
    """Make `folder` and what is missing above it; return what was made, innermost first."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    return missing


def remove_empty(folders: list[Path]) -> None:
    """Remove these folders, innermost first, as far as they are empty."""
    for folder in folders:
        if not folder.is_dir() or any(folder.iterdir()):
            return
        folder.rmdir()
