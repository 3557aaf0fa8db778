"""One worker at one shape: reveal fresh inputs, let it run, take the bytes at delivery, compare."""

from __future__ import annotations

import gc
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from ...memory.schema import Constraints, Finding, OutputError, ShapeResult, Status, Tolerance
from .arena import Slot, TensorPlan
from .compare import agrees, compare, same_bits
from .failure import CandidateFailure, blamed
from .problem import Drawn, Parameters, Shape, Signature
from .seat import Seat

POISON_BYTE = 0xFF
"""All ones is NaN in every float format: what is not written stays wrong. Of other types it would be one right answer
(-1, true) among few: they get a byte drawn for each call."""
DELIVERY_SAMPLES = 64
WITHHELD_SHARE = 256
"""One element in this many stays wrong until the clock runs, so that nothing can be computed ahead."""


@dataclass(frozen=True)
class CallTime:
    """What one call took."""

    elapsed_s: float
    """From the reveal to the last byte taken by the judge's clock, or between the device's events."""
    overhead_s: float | None = None
    """Two events with nothing between them; None by the judge's clock."""
    wall_s: float = 0.0
    """By the judge's clock, whichever one counts."""


@dataclass(frozen=True)
class CallLimits:
    """The wall-clock limits of one worker's calls."""

    setup_s: float
    call_s: float

    @classmethod
    def of(cls, constraints: Constraints) -> CallLimits:
        """A task's limits."""
        return cls(constraints.setup_timeout_s, constraints.call_timeout_s)


class Trial:
    """A configured worker. The arena's layout is this trial's until the next one is made."""

    def __init__(
        self,
        seat: Seat,
        signature: Signature,
        shape: Shape,
        parameters: Parameters,
        limits: CallLimits,
    ) -> None:
        self._worker = seat.worker
        self._arena = seat.arena
        self._place = seat.place
        self._shape = shape
        self._limits = limits
        slots = iter(seat.arena.place(signature.tensors))
        self._inputs = [next(slots) for plan in signature.inputs if isinstance(plan, TensorPlan)]
        self._parameters = [next(slots) for _ in signature.parameters]
        self._outputs = [next(slots) for _ in signature.outputs]
        self._given = parameters
        self._taken = [torch.empty_like(slot.tensor) for slot in self._outputs]
        for slot, value in zip(self._parameters, parameters, strict=True):
            slot.tensor.copy_(value)
        self._place.settle()
        layout = _layout(signature, self._inputs, self._parameters, self._outputs)
        with blamed(seat.worker, self._where("setting up"), limits.setup_s):
            seat.worker.configure({**layout, **seat.launches(signature, shape)}, limits.setup_s)
        seat.worker.hold()

    def run(self, drawn: Drawn, case: str) -> CallTime:
        """One call on fresh inputs.

        Raises:
            CandidateFailure: it failed, wrote outside its outputs, or changed its inputs.
        """
        withheld = self._prepare(drawn)
        self._place.chill()
        self._place.settle()
        spots = [_random_places(slot.tensor) for slot in self._outputs]
        doing = self._where("calling it", case)
        with blamed(self._worker, doing, self._limits.call_s):
            start = time.perf_counter_ns()
            for flat, indices, values in withheld:
                flat.index_copy_(0, indices, values)
            self._place.settle()
            times = self._worker.call(self._limits.call_s)
            seen = [slot.tensor.view(-1)[places] for slot, places in zip(self._outputs, spots, strict=True)]
            # The copy is inside the region: what a thread of the candidate writes later is not taken.
            for target, slot in zip(self._taken, self._outputs, strict=True):
                target.copy_(slot.tensor)
            self._place.settle()
            elapsed_s = (time.perf_counter_ns() - start) / 1e9
        self._worker.hold()
        self._check_delivery(seen, spots, case)
        self._check_memory(drawn, case)
        return CallTime(elapsed_s, None, elapsed_s) if times is None else CallTime(*times, elapsed_s)

    @property
    def delivered(self) -> dict[str, torch.Tensor]:
        """The last call's outputs by name; overwritten by the next call."""
        return {slot.plan.name: taken for slot, taken in zip(self._outputs, self._taken, strict=True)}

    def compare(self, drawn: Drawn, tolerance: Tolerance) -> tuple[OutputError, ...]:
        """The last call's outputs against what is right."""
        return tuple(
            compare(slot.plan.name, taken, expected, tolerance)
            for slot, taken, expected in zip(self._outputs, self._taken, drawn.expected, strict=True)
        )

    def check(self, drawn: Drawn, case: str, tolerance: Tolerance) -> tuple[OutputError, ...]:
        """Compare, and refuse what is wrong.

        Raises:
            CandidateFailure: it changed its parameters; incorrect_values, with the first wrong output's worst element.
        """
        self._check_parameters(case)
        errors = self.compare(drawn, tolerance)
        wrong = next((error for error in errors if error.tolerance_ratio > 1), None)
        if wrong is None:
            return errors
        result = ShapeResult(
            symbols=self._shape.symbols, hidden=self._shape.hidden, cases=1, failed_case=case, errors=errors
        )
        raise CandidateFailure(Status.INCORRECT_VALUES, _describe(wrong, self._shape, case), shape=result)

    def confirm(self, drawn: Drawn, case: str, tolerance: Tolerance) -> None:
        """Refuse what is wrong, without saying how far off what is right is: a fifth of the time.

        Raises:
            CandidateFailure: as `check`.
        """
        self._check_parameters(case)
        if not all(agrees(taken, right, tolerance) for taken, right in zip(self._taken, drawn.expected, strict=True)):
            self.check(drawn, case, tolerance)

    def _prepare(self, drawn: Drawn) -> list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]:
        """Poison the outputs and write the inputs, but for the elements that are withheld."""
        for slot in self._outputs:
            is_float = slot.tensor.is_floating_point()
            slot.tensor.view(-1).view(torch.uint8).fill_(POISON_BYTE if is_float else _random_byte(slot.tensor.dtype))
        withheld = []
        for slot, value in zip(self._inputs, drawn.inputs, strict=True):
            slot.tensor.copy_(value)
            count = max(1, value.numel() // WITHHELD_SHARE)
            indices = torch.randint(value.numel(), (count,), device=value.device)
            flat = slot.tensor.view(-1)
            flat[indices] = _wrong(flat.dtype)
            withheld.append((flat, indices, value.reshape(-1)[indices]))
        return withheld

    def _check_delivery(self, seen: list[torch.Tensor], spots: list[torch.Tensor], case: str) -> None:
        """What is taken front to back could still be written at its end: a sample is taken at once, all over."""
        for slot, taken, early, places in zip(self._outputs, self._taken, seen, spots, strict=True):
            if not same_bits(early, taken.view(-1)[places]):
                raise self._misuse(
                    "written_after_delivery", f"wrote {slot.plan.name} after it had said that it was done",
                    Status.INTEGRITY_VIOLATION, case,
                )  # fmt: skip

    def _check_parameters(self, case: str) -> None:
        for slot, value in zip(self._parameters, self._given, strict=True):
            self._check_unchanged(slot, value, case)

    def _check_memory(self, drawn: Drawn, case: str) -> None:
        overrun = self._arena.overrun()
        if overrun is not None:
            raise self._misuse(
                "out_of_bounds_write", f"wrote past the end of (or before) {overrun}", Status.RUNTIME_ERROR, case
            )
        for slot, value in zip(self._inputs, drawn.inputs, strict=True):
            self._check_unchanged(slot, value, case)

    def _check_unchanged(self, slot: Slot, value: torch.Tensor, case: str) -> None:
        if not same_bits(slot.tensor, value):
            what = f"changed its input {slot.plan.name}"
            raise self._misuse("input_modified", what, Status.INTEGRITY_VIOLATION, case)

    def _misuse(self, kind: str, what: str, status: Status, case: str) -> CandidateFailure:
        evidence = f"it {what} ({self._where('seen', case)})"
        return CandidateFailure(
            status, evidence, output=self._worker.output_tail(), findings=(Finding(kind=kind, evidence=evidence),)
        )

    def _where(self, doing: str, case: str | None = None) -> str:
        symbols = ", ".join(f"{name}={value}" for name, value in self._shape.symbols.items())
        kind = "hidden shape" if self._shape.hidden else "shape"
        at = f" at {kind} {symbols}" if symbols else ""
        return f"{doing}{at}" + (f", {case} data" if case else "")


@contextmanager
def without_collection() -> Iterator[None]:
    """No garbage collection inside timed regions."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _layout(signature: Signature, inputs: list[Slot], parameters: list[Slot], outputs: list[Slot]) -> dict[str, object]:
    slots = iter(inputs)
    return {
        "inputs": [
            next(slots).describe() if isinstance(plan, TensorPlan) else {"value": plan} for plan in signature.inputs
        ],
        "parameters": [slot.describe() for slot in parameters],
        "outputs": [slot.describe() for slot in outputs],
        "symbols": list(signature.symbols),
        "keywords": signature.keywords,
    }


def _random_places(tensor: torch.Tensor) -> torch.Tensor:
    return torch.randint(tensor.numel(), (DELIVERY_SAMPLES,), device=tensor.device)


def _random_byte(dtype: torch.dtype) -> int:
    return secrets.randbelow(2 if dtype is torch.bool else 256)


def _wrong(dtype: torch.dtype) -> float | int | bool:
    return float("nan") if dtype.is_floating_point else (True if dtype is torch.bool else 0)


def _describe(error: OutputError, shape: Shape, case: str) -> str:
    symbols = ", ".join(f"{name}={value}" for name, value in shape.symbols.items())
    at = f" at {'hidden shape' if shape.hidden else 'shape'} {symbols}" if symbols else ""
    return (
        f"{error.output} is wrong{at}, {case} data: {error.mismatched} of {error.elements} elements beyond tolerance, "
        f"worst at {list(error.worst_index)}: got {error.worst_value:.6g}, expected {error.worst_expected:.6g} "
        f"({error.tolerance_ratio:.3g} times the tolerance)"
    )
