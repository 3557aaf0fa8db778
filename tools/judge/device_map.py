"""GPU memory that two processes map: made by the judge, passed on as a file descriptor.

A descriptor works across namespaces, and maps this one block and nothing beside it.
"""

from __future__ import annotations

from typing import Any

from cuda.bindings import driver

from ...memory.errors import HarnessError

FD = driver.CUmemAllocationHandleType.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR


def ask(result: tuple[Any, ...]) -> Any:
    """The value of a driver call.

    Raises:
        HarnessError: the driver refused.
    """
    status, *values = result
    if status != driver.CUresult.CUDA_SUCCESS:
        raise HarnessError(f"the CUDA driver refused: {status.name}")
    return values[0] if values else None


def properties() -> driver.CUmemAllocationProp:
    """Device memory that can be handed on as a file descriptor."""
    properties = driver.CUmemAllocationProp()
    properties.type = driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    properties.location.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    properties.location.id = 0
    properties.requestedHandleTypes = FD
    return properties


def map_here(handle: Any, size_bytes: int) -> int:
    """Map a block for reading and writing; returns its device address."""
    address = ask(driver.cuMemAddressReserve(size_bytes, 0, 0, 0))
    ask(driver.cuMemMap(address, size_bytes, 0, handle, 0))
    access = driver.CUmemAccessDesc()
    access.location.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    access.location.id = 0
    access.flags = driver.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
    ask(driver.cuMemSetAccess(address, size_bytes, [access], 1))
    return int(address)


def map_shared(descriptor: int, size_bytes: int) -> int:
    """Map a block that another process made; returns its device address."""
    return map_here(ask(driver.cuMemImportFromShareableHandle(descriptor, FD)), size_bytes)
