"""Real output of ncu 2025.3 on an H200, kept compressed."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

FIRST_METRIC = 11
DATA = Path(__file__).parent / "data"


def naive_gemm() -> bytes:
    """One launch of a naive 16x16-tile fp16 matrix product, n = 1024; a program's lines stand before the header."""
    return gzip.decompress((DATA / "ncu_raw_h200.csv.gz").read_bytes())


def matmuls() -> bytes:
    """Five library matrix products, n = 1024: fp16, bf16, fp32, fp64 and tf32; ncu's log file alone."""
    return gzip.decompress((DATA / "ncu_matmul_h200.csv.gz").read_bytes())


def copy() -> bytes:
    """One launch of a copy of 256 MiB by float4, with the metrics that `--set full` leaves out."""
    return gzip.decompress((DATA / "ncu_copy_h200.csv.gz").read_bytes())


def small_table() -> tuple[str, str, str]:
    """Header, units and row of the naive product, cut to the launch, its duration and its DRAM traffic."""
    lines = [next(csv.reader([line])) for line in naive_gemm().decode().splitlines()[-3:]]
    kept = [
        at for at, name in enumerate(lines[0]) if at < FIRST_METRIC or name.startswith(("gpu__time", "dram__bytes_"))
    ]
    header, units, row = (",".join(f'"{cells[at]}"' for at in kept) for cells in lines)
    return header, units, row
