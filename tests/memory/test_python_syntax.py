"""Python's parser, shared by threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from kernelguild.memory.expressions import parse
from kernelguild.memory.python_syntax import parse_module


def test_threads_may_parse_at_the_same_time() -> None:
    module = "\n".join(f"x{n} = (({n} + 1) * 2, [{n}, 'text'], lambda y: y ** {n})" for n in range(300))

    def work(turn: int) -> int:
        return len(parse_module(module).body) if turn % 2 else parse("cdiv(n, 4) * min(n, 8)").evaluate({"n": turn})

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(work, range(200)))
    assert answers[1::2] == [300] * 100
    assert answers[8] == 16
