"""The devices that measurements were made on."""

from __future__ import annotations

from collections.abc import Sequence

from ..memory.errors import NotFoundError
from ..memory.schema import Device
from .outline import outline


def device_markdown(model: str, devices: Sequence[Device]) -> str:
    """The devices of one model.

    Raises:
        NotFoundError: none of `devices` is of this model.
    """
    blocks = [outline(d.model_dump(mode="json", exclude={"schema_version"})) for d in devices if d.model == model]
    if not blocks:
        raise NotFoundError(f"nothing was measured on a device of model {model!r}; device://list names the models")
    return "\n\n".join([f"# Device {model}", *blocks]) + "\n"


def device_list_markdown(devices: Sequence[Device]) -> str:
    """The models of the stored devices."""
    if not devices:
        return "Nothing has been measured yet.\n"
    lines = sorted({f"- device://{device.model}: {device.name}, {device.cores} cores" for device in devices})
    return "\n".join(["# Devices", *lines]) + "\n"
