"""Blobs come back whole or not at all."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from kernelguild.memory.blobs import BlobStore
from kernelguild.memory.errors import NotFoundError, StoreError
from kernelguild.memory.store import open_store


def only_file(folder: Path) -> Path:
    [path] = [path for path in folder.rglob("*") if path.is_file()]
    return path


@pytest.mark.parametrize("data", [b"", b"\0\xff" * 100_000])
def test_a_blob_comes_back_under_its_digest(tmp_path: Path, data: bytes) -> None:
    blobs = BlobStore(tmp_path)
    digest = blobs.put(data)
    assert digest == hashlib.sha256(data).hexdigest()
    assert blobs.get(digest) == data
    assert blobs.size(digest) == len(data)
    assert only_file(tmp_path).relative_to(tmp_path) == Path(digest[:2], digest[2:4], digest)


def test_a_damaged_blob_is_refused_and_putting_it_again_repairs_it(tmp_path: Path) -> None:
    blobs = BlobStore(tmp_path)
    digest = blobs.put(b"measured data")
    only_file(tmp_path).write_bytes(b"measured dat4")
    with pytest.raises(StoreError, match=f"{digest}: the blob is damaged"):
        blobs.get(digest)
    blobs.put(b"measured data")
    assert blobs.get(digest) == b"measured data"
    only_file(tmp_path)


@pytest.mark.parametrize("name", ["", "../../etc/passwd", "A" * 64, "a" * 63])
def test_a_name_that_is_no_digest_reaches_no_file(tmp_path: Path, name: str) -> None:
    blobs = BlobStore(tmp_path)
    with pytest.raises(NotFoundError, match="names no blob"):
        blobs.get(name)
    with pytest.raises(NotFoundError, match="names no blob"):
        blobs.size(name)


def test_a_missing_blob_is_not_found(tmp_path: Path) -> None:
    blobs = BlobStore(tmp_path)
    with pytest.raises(NotFoundError, match="no blob 0000"):
        blobs.get("0" * 64)
    with pytest.raises(NotFoundError, match="no blob 0000"):
        blobs.size("0" * 64)


def test_a_folder_that_cannot_be_written_is_a_store_error(tmp_path: Path) -> None:
    (tmp_path / "blobs").write_bytes(b"in the way")
    with pytest.raises(StoreError, match="the blob cannot be written"):
        BlobStore(tmp_path / "blobs").put(b"data")


@pytest.mark.anyio
async def test_blobs_live_in_the_home(tmp_path: Path) -> None:
    async with open_store(tmp_path) as store:
        digest = store.blobs.put(b"log")
    async with open_store(tmp_path) as store:
        assert store.blobs.get(digest) == b"log"
