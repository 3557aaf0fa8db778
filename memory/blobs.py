"""Content-addressed files: a blob's name is the SHA-256 of its bytes."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from pathlib import Path

from .errors import NotFoundError, StoreError

_DIGEST = re.compile(r"[0-9a-f]{64}")


class BlobStore:
    """Blobs under `folder`/ab/cd/abcd…; written to a temporary name, synced and renamed, so never seen half."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, data: bytes) -> str:
        """Keep `data`; its digest as 64 hex digits. Putting it again costs a read, and repairs a damaged blob.

        Raises:
            StoreError: the folder cannot be written.
        """
        digest = hashlib.sha256(data).hexdigest()
        path = self._path(digest)
        try:
            if not (path.is_file() and path.read_bytes() == data):
                _write(path, data)
        except OSError as error:
            raise StoreError(f"{path}: the blob cannot be written: {error.strerror}") from error
        return digest

    def get(self, digest: str) -> bytes:
        """The bytes, checked against their digest.

        Raises:
            NotFoundError: no such blob, or `digest` is none.
            StoreError: the file cannot be read, or its bytes are not those that were put.
        """
        path = self._path(digest)
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            raise NotFoundError(f"no blob {digest} in {self._folder}") from None
        except OSError as error:
            raise StoreError(f"{path}: the blob cannot be read: {error.strerror}") from error
        if hashlib.sha256(data).hexdigest() != digest:
            raise StoreError(f"{path}: the blob is damaged ({len(data)} bytes of other content); delete the file")
        return data

    def size(self, digest: str) -> int:
        """The size in bytes, not checked against the digest.

        Raises:
            NotFoundError: no such blob, or `digest` is none.
        """
        try:
            return self._path(digest).stat().st_size
        except FileNotFoundError:
            raise NotFoundError(f"no blob {digest} in {self._folder}") from None

    def _path(self, digest: str) -> Path:
        if not _DIGEST.fullmatch(digest):
            raise NotFoundError(f"{digest!r} names no blob: a digest has 64 hex digits in lower case")
        return self._folder / digest[:2] / digest[2:4] / digest


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".", delete=False) as file:
        try:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            Path(file.name).replace(path)
        except BaseException:  # cancelled or failed: half a file must not stay
            Path(file.name).unlink()
            raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Make the new name itself durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
