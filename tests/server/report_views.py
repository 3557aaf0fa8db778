"""Searches for the tests of the report, as the coordinator would tell them."""

from __future__ import annotations

import difflib
import random

from kernelguild.memory.schema import BestView, NodeView, PendingView, SearchView, Status, Verdict

BASELINE_MS = 0.8
SEED = """#include <cstdint>

extern "C" int softmax(const float* in, float* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
    out[i] = in[i];
    }
    return 0;
}
"""
FASTER = SEED.replace("++i", "i += 8").replace("    out[i] = in[i];", "    store8(out + i, load8(in + i));")
DIFF = "".join(difflib.unified_diff(SEED.splitlines(True), FASTER.splitlines(True), "node 1", "node 3"))
HOSTILE = """</script><script>alert(1)</script><img src=x onerror="alert('2')"> <!-- &lt; "q" 'q'"""
STRATEGIES = ("vectorized_load", "light_fusion", "small_unroll", "register_accumulation", "invariant_hoisting", None)
FAILURES = (Status.COMPILE_ERROR, Status.INCORRECT_VALUES, Status.TIMEOUT)


def node(number: int, parent: NodeView | None, speedup: float | None, **changes: object) -> NodeView:
    """A judged node; without a speedup its outputs were wrong."""
    passed = speedup is not None
    value = max(0.0, 1 - 1 / speedup) if speedup else 0.0
    return NodeView(
        id=number,
        parent=None if parent is None else parent.id,
        depth=0 if parent is None else parent.depth + 1,
        candidate_id=f"{number:032x}",
        status=Status.PASSED if passed else Status.INCORRECT_VALUES,
        verdict=_verdict(speedup),
        message="all outputs correct" if passed else "y[0, 3] is off: 0.25 instead of 0.125",
        value=value,
        visit_count=1,
        mean_value=value,
        shaped_prior=None if parent is None else 0.4,
        candidate_ms=BASELINE_MS / speedup if speedup else None,
        speedup=speedup,
        speedup_low=speedup / 1.04 if speedup else None,
        speedup_high=speedup * 1.04 if speedup else None,
        agent="" if parent is None else "tuner",
        direction=None,
        strategy=None,
        rationale="" if parent is None else "width 1 -> 8: eight floats a load, so that the loop is bound by memory",
        round=None if parent is None else number,
        diff="" if parent is None else DIFF,
    ).model_copy(update=changes)


def _verdict(speedup: float | None) -> Verdict:
    if speedup is None:
        return Verdict.NONE
    if speedup > 1.07:
        return Verdict.FASTER
    return Verdict.SLOWER if speedup < 0.93 else Verdict.INCONCLUSIVE


def view_of(
    nodes: list[NodeView], *, rounds: int = 8, pending: tuple[PendingView, ...] = (), source: str = FASTER
) -> SearchView:
    """The finished search that judged these nodes."""
    passed = [one for one in nodes[1:] if one.speedup is not None and one.verdict is not Verdict.SUSPECT]
    best = max(passed, key=lambda one: one.speedup or 0.0, default=None)
    return SearchView(
        search_id="5eac" * 8,
        task_name="softmax_cpp",
        status="finished",
        agents=("tuner:2",),
        rounds=rounds,
        rounds_done=len(nodes) - 1,
        baseline_ms=BASELINE_MS if nodes[0].speedup else None,
        nodes=tuple(nodes),
        pending=pending,
        best=None if best is None else _best(best, nodes, source),
        device="x86-64 test machine, 2 cores",
        created_at_s=1_700_000_000.0,
        updated_at_s=1_700_000_095.0,
        duplicates=3,
    )


def _best(best: NodeView, nodes: list[NodeView], source: str) -> BestView:
    """Measured again, it is a little slower: it had been picked for its luck as well."""
    assert best.speedup is not None
    assert best.speedup_low is not None
    assert best.speedup_high is not None
    assert best.candidate_ms is not None
    path, at = [best.id], best.parent
    while at is not None:
        path.insert(0, at)
        at = nodes[at].parent
    return BestView(
        node=best.id,
        candidate_id=best.candidate_id,
        path=tuple(path),
        source=source,
        speedup=0.95 * best.speedup,
        speedup_low=0.95 * best.speedup_low,
        speedup_high=0.95 * best.speedup_high,
        candidate_ms=best.candidate_ms / 0.95,
        baseline_ms=BASELINE_MS,
        confirmed=True,
    )


def small_view() -> SearchView:
    """Six rounds, one of every kind of outcome, and two proposals that wait."""
    root = node(0, None, 1.0, visit_count=6)
    first = node(1, root, 1.9, strategy="vectorized_load", direction="memory_access", visit_count=3, mean_value=0.41)
    nodes = [
        root,
        first,
        node(2, first, 4.0, strategy="light_fusion", direction="data_reuse"),
        node(3, first, None, strategy="small_unroll", direction="throughput"),
        node(4, root, 0.7, strategy="invariant_hoisting", direction="throughput"),
        node(5, root, 1.01),
        node(6, root, 9.0, verdict=Verdict.SUSPECT, message="faster than memory allows"),
    ]
    waiting = PendingView(edge=7, parent=2, prior=0.25, in_flight=True, strategy="small_unroll")
    return view_of(nodes, pending=(waiting, waiting.model_copy(update={"edge": 8, "in_flight": False})))


def empty_view() -> SearchView:
    """A search whose seed was judged, and nothing else."""
    return view_of([node(0, None, 1.0)]).model_copy(update={"status": "running", "duplicates": 0})


def failures_view() -> SearchView:
    """A seed that fails, and three programs after it."""
    root = node(0, None, None)
    rest = [node(1 + i, root, None, status=status, message=f"it failed: {status}") for i, status in enumerate(FAILURES)]
    return view_of([root, *rest])


def hostile_view() -> SearchView:
    """Every text that an agent or a program can choose tries to leave its place."""
    text = f"{HOSTILE} \u202eesrever\u202c"
    root = node(0, None, 1.0)
    bad = node(1, root, 2.0, rationale=text, message=text, diff=f"+{text}\n", agent=text)
    return view_of([root, bad], source=text).model_copy(update={"task_name": text, "device": text})


def grown_view(count: int, rng: random.Random) -> SearchView:
    """A large search: good nodes get more children, a fifth of the programs fail."""
    nodes = [node(0, None, 1.0)]
    while len(nodes) < count:
        parent = max(rng.sample(nodes, min(4, len(nodes))), key=lambda one: (one.speedup or 0.0) / (1 + one.depth / 9))
        if parent.speedup is None:
            continue
        speedup = None if rng.random() < 0.2 else min(14.0, parent.speedup * rng.lognormvariate(0.02, 0.22))
        failed = {"status": rng.choice(FAILURES)} if speedup is None else {}
        nodes.append(node(len(nodes), parent, speedup, strategy=rng.choice(STRATEGIES), **failed))
    return view_of(nodes, rounds=count - 1)
