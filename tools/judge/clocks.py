"""A GPU's clocks as its driver tells them."""

from __future__ import annotations

import pynvml  # type: ignore[import-untyped]

HELD_BACK = {
    "application clocks": pynvml.nvmlClocksThrottleReasonApplicationsClocksSetting,
    "power": pynvml.nvmlClocksThrottleReasonSwPowerCap,
    "hardware": pynvml.nvmlClocksThrottleReasonHwSlowdown,
    "heat (software)": pynvml.nvmlClocksThrottleReasonSwThermalSlowdown,
    "heat (hardware)": pynvml.nvmlClocksThrottleReasonHwThermalSlowdown,
    "power brake": pynvml.nvmlClocksThrottleReasonHwPowerBrakeSlowdown,
    "synchronised boost": pynvml.nvmlClocksThrottleReasonSyncBoost,
}


def conditions() -> str:
    """The first GPU's clocks, and why they are held back where they are."""
    pynvml.nvmlInit()
    handle = pynvml.nvmlDeviceGetHandleByIndex(0)
    sm_mhz = pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM)
    memory_mhz = pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_MEM)
    reasons = pynvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle)
    held = [name for name, bit in HELD_BACK.items() if reasons & bit]
    return f"SM {sm_mhz} MHz, memory {memory_mhz} MHz, {'held back by ' + ', '.join(held) if held else 'not held back'}"
