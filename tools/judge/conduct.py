"""What a candidate with host code really did: its kernels spoiled, and what ran beside them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from ...memory.schema import Finding, Language, OutputError, Status, Task
from .arena import required_bytes
from .bench import Bench, Program, remove_tree
from .cases import DECLARED
from .extension.observation import OBSERVATION_NAME, Observation, read_observation
from .failure import CandidateFailure
from .place import Place
from .problem import Problem, Shape
from .trial import CallLimits, Trial

CALLS = 2
VENDOR_OPERATORS = frozenset(
    {
        "mm", "addmm", "bmm", "baddbmm", "addmv", "mv", "dot", "convolution", "mkldnn_convolution",
        "mkldnn_linear", "mkldnn_rnn_layer", "cudnn_convolution", "miopen_convolution", "native_batch_norm",
        "cudnn_batch_norm", "_scaled_dot_product_flash_attention", "_scaled_dot_product_flash_attention_for_cpu",
        "_scaled_dot_product_efficient_attention", "_scaled_dot_product_cudnn_attention", "_scaled_mm", "_int_mm",
        "_fft_c2c", "_fft_r2c", "_fft_c2r", "_cudnn_rnn", "_thnn_fused_lstm_cell",
    }
)  # fmt: skip
"""torch operators whose work a vendor's library does (BLAS, oneDNN, cuDNN, FFT)."""
VENDOR_LIBRARY = re.compile(r"mkl|blas|blis|lapack|cudnn|cufft|cusparse|dnnl|onednn|armpl|fftw|nvpl", re.IGNORECASE)


@dataclass(frozen=True)
class Conduct:
    """Watches programs of one task."""

    bench: Bench
    task: Task
    problem: Problem
    place: Place

    def noticed(self, program: Program, shape: Shape, others: tuple[Finding, ...]) -> tuple[Finding, ...]:
        """What is odd about a program whose outputs are right, after the `others` that the outputs themselves show.

        Raises:
            CandidateFailure: the task forbids it.
        """
        found = (*others, *(self._findings(program, shape) if program.language is Language.PYTORCH else ()))
        for finding in found:
            if finding.kind in self.task.constraints.forbid:
                message = f"the task forbids {finding.kind}: {finding.evidence}"
                raise CandidateFailure(Status.CONSTRAINT_VIOLATION, message, findings=found)
        return found

    def _findings(self, program: Program, shape: Shape) -> tuple[Finding, ...]:
        """Empty where nothing can be said."""
        record = self.bench.new_folder() / OBSERVATION_NAME
        right = self._right_without_kernels(program, shape, record)
        seen = read_observation(record) or Observation()
        remove_tree(record.parent)
        return tuple(_findings(seen, right, str(program.scratch)))

    def _right_without_kernels(self, program: Program, shape: Shape, record: Path) -> bool:
        """Whether every output is right although what the kernels gave is spoiled."""
        signature = self.problem.signature(shape)
        size_bytes = required_bytes(signature.tensors)
        try:
            with self.bench.seat(program, self.place, size_bytes, ghost=True, product=record) as seat:
                parameters = self.problem.draw_parameters()
                limits = CallLimits.of(self.task.constraints)
                trial = Trial(seat, signature, shape, parameters, limits)
                errors: list[OutputError] = []
                for _ in range(CALLS):
                    drawn = self.problem.draw(shape, DECLARED, parameters)
                    trial.run(drawn, DECLARED)
                    errors += trial.compare(drawn, self.task.tolerance)
                seat.worker.finish(limits.call_s)
        except CandidateFailure:  # without its kernels' results it may fail in any way
            return False
        return all(error.tolerance_ratio <= 1 for error in errors)


def _findings(seen: Observation, right: bool, scratch: str) -> list[Finding]:
    findings = []
    ran = ", ".join(name.removeprefix("aten.") for name in seen.operators) or "none"
    built_here = [path for path in seen.libraries if path.startswith(scratch)]
    if right and not seen.opaque and not built_here:
        reason = (
            f"its outputs are right even when all that {', '.join(seen.kernels)} gave is replaced by NaN"
            if seen.kernels
            else "no function of an extension and no Triton kernel ran"
        )
        findings.append(Finding(kind="no_custom_kernel", evidence=f"{reason}; torch operators that ran: {ran}"))
    vendor = [name.removeprefix("aten.") for name in seen.operators if name.removeprefix("aten.") in VENDOR_OPERATORS]
    brought = [path.rsplit("/", 1)[-1] for path in seen.libraries if VENDOR_LIBRARY.search(path.rsplit("/", 1)[-1])]
    if vendor or brought:
        parts = [f"torch operators that a vendor's library computes: {', '.join(vendor)}"] if vendor else []
        parts += [f"libraries that it loaded: {', '.join(brought)}"] if brought else []
        findings.append(Finding(kind="vendor_library", evidence="; ".join(parts)))
    if seen.output_buffer_reused:
        evidence = "a call delivered the memory of an earlier call's output: what a caller kept of that is overwritten"
        findings.append(Finding(kind="output_buffer_reused", evidence=evidence))
    return findings
