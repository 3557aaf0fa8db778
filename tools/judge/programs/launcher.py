"""The judge's own launcher: loads device code and follows its launch plan. No host code of a candidate runs here."""

from __future__ import annotations

import socket
from typing import Any

from ..device_map import map_shared
from ..worker_spec import WorkerSpec
from .device_call import DeviceCall
from .serving import Call, Layout


class Launcher:
    """A GPU context that waits; the memory and the device code come with the first layout."""

    def __init__(self, channel: int) -> None:
        self._device = DeviceCall()
        self._channel = socket.socket(fileno=channel)
        self._base = 0

    def configure(self, layout: Layout) -> Call:
        if not self._base:
            self._base = self._receive(layout["arena_bytes"])
            self._device.load(layout["modules"])
        steps = self._device.bind(layout, [item["offset"] + self._base for item in _tensors(layout)])
        return lambda: self._device.run_timed(steps)

    def _receive(self, size_bytes: int) -> int:
        _, descriptors, _, _ = socket.recv_fds(self._channel, 1, 1)
        return map_shared(descriptors[0], size_bytes)


def _tensors(layout: Layout) -> list[dict[str, Any]]:
    """The tensors that have a place, in the order that launch plans count them."""
    return [item for item in (*layout["inputs"], *layout["parameters"], *layout["outputs"]) if "offset" in item]


def load(spec: WorkerSpec, shared: int) -> Launcher:
    """Get a GPU context; `shared` is the channel over which the memory comes later."""
    del spec
    return Launcher(shared)
