"""One call of device-only code in a process of its own, for a profiler or a memory checker to be put around.

Every tensor is an allocation by itself, so that an access beyond one of them is seen. No host code of a candidate runs.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from cuda.bindings import driver

from ..programs.device_call import DeviceCall
from ..programs.kernel_arguments import ask

POISON_BYTE = 0xFF


def main() -> None:
    """`replay PLAN poisoned|unwritten`: the call's plan, beside its tensors' files, and how the outputs start."""
    plan, outputs = Path(sys.argv[1]), sys.argv[2]
    folder = plan.parent
    layout: dict[str, Any] = json.loads(plan.read_text(encoding="ascii"))
    call = DeviceCall()
    call.load(layout["modules"])
    tensors = [_tensor(folder, entry, poisoned=outputs == "poisoned") for entry in layout["tensors"]]
    steps = call.bind(layout, tensors)
    call.run(steps)


def _tensor(folder: Path, entry: dict[str, Any], *, poisoned: bool) -> int:
    pointer = ask(driver.cuMemAlloc(entry["bytes"]), "allocating a tensor")
    if entry["file"]:
        data = (folder / entry["file"]).read_bytes()
        ask(driver.cuMemcpyHtoD(pointer, data, len(data)), "filling a tensor")
    elif poisoned:
        ask(driver.cuMemsetD8(pointer, POISON_BYTE, entry["bytes"]), "poisoning a tensor")
    return int(pointer)


if __name__ == "__main__":
    main()
