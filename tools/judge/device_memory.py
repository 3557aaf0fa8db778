"""The judge's side of GPU memory that a worker maps too."""

from __future__ import annotations

import os

import torch
from cuda.bindings import driver

from .device_map import FD, ask, map_here, properties


def as_bytes(address: int, size_bytes: int) -> torch.Tensor:
    """A view of device memory, uint8; it owns nothing."""

    class View:
        __cuda_array_interface__ = {  # noqa: RUF012  the protocol wants a plain attribute
            "shape": (size_bytes,), "typestr": "|u1", "data": (address, False), "version": 3
        }  # fmt: skip

    return torch.as_tensor(View(), device="cuda")


class DeviceMemory:
    """A block of GPU memory of the judge's, for one worker."""

    def __init__(self, size_bytes: int) -> None:
        granularity = ask(
            driver.cuMemGetAllocationGranularity(
                properties(), driver.CUmemAllocationGranularity_flags.CU_MEM_ALLOC_GRANULARITY_MINIMUM
            )
        )
        self._size_bytes = -(-size_bytes // granularity) * granularity
        self._handle = ask(driver.cuMemCreate(self._size_bytes, properties(), 0))
        self._address = map_here(self._handle, self._size_bytes)
        self.descriptor = int(ask(driver.cuMemExportToShareableHandle(self._handle, FD, 0)))
        self.data = as_bytes(self._address, self._size_bytes)

    def close(self) -> None:
        """Unmap here; the memory is free once the worker is gone too."""
        torch.cuda.synchronize()
        del self.data
        os.close(self.descriptor)
        ask(driver.cuMemUnmap(self._address, self._size_bytes))
        ask(driver.cuMemAddressFree(self._address, self._size_bytes))
        ask(driver.cuMemRelease(self._handle))
