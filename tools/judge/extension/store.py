"""Built extensions on disk, by content: one folder for each, written by judges alone, checked when it is read."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field, ValidationError

from ....memory.schema import Digest, StoredRecord

ENTRY_NAME = "entry.json"
MAX_ENTRIES = 512
FOLDER_MODE = 0o700


class LibraryEntry(StoredRecord):
    """What is known of a kept library."""

    file_name: str = Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*\.so$")
    digest: Digest
    """SHA-256 of the library: a file that was damaged or changed is built anew."""
    command: str
    log: str
    duration_s: float = Field(ge=0)
    """What building it took."""


@dataclass(frozen=True)
class ExtensionStore:
    """Libraries by the digest of sources, flags and toolchain."""

    folder: Path

    def get(self, key: str, target: Path) -> LibraryEntry | None:
        """Copy a kept library to `target` (a folder); None where there is none that is whole."""
        folder = self.folder / key
        try:
            entry = LibraryEntry.model_validate_json((folder / ENTRY_NAME).read_bytes())
            library = (folder / entry.file_name).read_bytes()
        except (OSError, ValidationError):
            return None
        if hashlib.sha256(library).hexdigest() != entry.digest:
            return None
        target.mkdir(mode=0o755)
        (target / entry.file_name).write_bytes(library)
        with contextlib.suppress(OSError):
            os.utime(folder)
        return entry

    def put(self, key: str, library: Path, *, command: str, log: str, duration_s: float) -> None:
        """Keep a library; that the disk is full or read-only is no reason to fail."""
        with contextlib.suppress(OSError):
            self.folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
            entry = LibraryEntry(
                file_name=library.name,
                digest=hashlib.sha256(library.read_bytes()).hexdigest(),
                command=command,
                log=log,
                duration_s=duration_s,
            )
            new = Path(tempfile.mkdtemp(prefix=".new-", dir=self.folder))
            try:
                shutil.copyfile(library, new / library.name)
                (new / ENTRY_NAME).write_text(entry.model_dump_json(), encoding="utf-8")
                shutil.rmtree(self.folder / key, ignore_errors=True)
                new.rename(self.folder / key)
            finally:
                shutil.rmtree(new, ignore_errors=True)
            self._forget()

    def _forget(self) -> None:
        """Drop what was not used for longest."""
        entries = sorted(self.folder.iterdir(), key=lambda entry: entry.stat().st_mtime)
        for entry in entries[:-MAX_ENTRIES]:
            shutil.rmtree(entry, ignore_errors=True)
