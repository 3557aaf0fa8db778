"""Directions and strategies have one set of ids from the first day (HTAM, appendices B.1, B.3 and E.1)."""

from __future__ import annotations

STRATEGIES: dict[str, tuple[str, ...]] = {
    "memory_access": ("vectorized_load", "readonly_cache", "stride_aware_access", "register_microtile"),
    "boundary": ("fast_path_predicate", "tail_isolation", "shape_dispatch"),
    "throughput": ("small_unroll", "register_accumulation", "invariant_hoisting"),
    "data_reuse": ("shared_memory_tiling", "staged_reuse", "light_fusion"),
    "parallel_mapping": ("output_aligned_block", "warp_lane_remap", "thread_coarsening"),
}
"""Direction id -> the ids of its strategies."""

DIRECTION_OF: dict[str, str] = {
    strategy: direction for direction, strategies in STRATEGIES.items() for strategy in strategies
}
"""Strategy id -> the id of its direction."""
