"""Shared memory of the host: anonymous, sealed against a worker that would cut it short."""

from __future__ import annotations

import fcntl
import mmap
import os

import torch

SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL


class HostMemory:
    """A memfd, mapped here."""

    def __init__(self, size_bytes: int) -> None:
        self.descriptor = os.memfd_create("kernelguild", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self.descriptor, size_bytes)
        # A worker that cuts the file short would kill the judge at its next access.
        fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, SEALS)
        self.data = torch.frombuffer(mmap.mmap(self.descriptor, size_bytes), dtype=torch.uint8)

    def close(self) -> None:
        """The mapping goes with its last view."""
        del self.data
        os.close(self.descriptor)
