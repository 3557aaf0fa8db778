"""The GPU as a place for tensors, by torch and the driver's bindings."""

from __future__ import annotations

import torch

from ...memory.errors import UnavailableError
from ...memory.schema import DeviceKind
from .arena import Arena
from .gpu_meter import GpuMeter
from .peaks import Meter

FLUSH_SHARE = 4
"""This many times the size of the L2 cache is read through it."""


class Gpu:
    """The first GPU that this process may see.

    Raises:
        UnavailableError: torch or the driver cannot use it.
    """

    kind: DeviceKind = "cuda"

    def __init__(self) -> None:
        try:
            from cuda.bindings import driver
        except ImportError as error:
            raise UnavailableError(f"{error.name} is missing: pip install 'kernelguild[cuda]'") from None
        if not torch.cuda.is_available():
            built = torch.version.cuda or "no CUDA"
            raise UnavailableError(f"torch {torch.__version__} (built with {built}) finds no GPU that it can use")
        properties = torch.cuda.get_device_properties(0)
        self._driver = driver
        self.sm_count = int(properties.multi_processor_count)
        major, minor = properties.major, properties.minor
        # From Hopper on, some instructions exist for the very architecture alone.
        self.arch = f"sm_{major}{minor}" + ("a" if major >= 9 else "")
        self._flush = torch.zeros(FLUSH_SHARE * properties.L2_cache_size // 8, dtype=torch.int64, device="cuda")
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False

    def arena(self, size_bytes: int) -> Arena:
        from .device_memory import DeviceMemory  # imports the driver's bindings, which were found above

        return Arena(DeviceMemory(size_bytes))

    def meter(self, threads: int) -> Meter:
        del threads
        return GpuMeter()

    def conditions(self) -> str:
        """The clocks, and why they are held back where they are."""
        from .clocks import conditions  # imports NVML, which a host without a GPU may lack

        return conditions()

    def settle(self) -> None:
        torch.cuda.synchronize()

    def chill(self) -> None:
        """Push everything out of the L2 cache, and reset lines that a kernel made persistent.

        By reading: lines that a flush had written would be written back while the candidate is timed, and slow it.
        """
        self._driver.cuCtxResetPersistingL2Cache()
        self._flush.sum()
