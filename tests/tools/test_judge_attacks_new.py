"""Candidates that are wrong where nobody looks, or that run while they are not called."""

from __future__ import annotations

from pathlib import Path

import pytest

from affine_task import RIGHT, Judgement, cpp
from kernelguild.memory.schema import Candidate, Evaluation, Language, Status, Tier, Verdict
from kernelguild.tools.tasks import load_task

HEAD = """\
schema_version: 1
name: attacked
reference: {file: reference.py, function: f}
seed_implementation: {file: seed.cpp, language: cpp}
entry: f
constraints: {call_timeout_s: 2, compile_timeout_s: 20, setup_timeout_s: 10, memory_bytes: 536870912}
"""
IS_TIMED = """
#include <sched.h>
static bool is_timed() { cpu_set_t cores; sched_getaffinity(0, sizeof cores, &cores); return CPU_COUNT(&cores) == 1; }
"""
CHANNELS = """
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
static int command = -1, answer = -1;
static void find_channels() {
    for (int fd = 3; fd < 16; ++fd) {
        struct stat state;
        if (fstat(fd, &state) || !S_ISFIFO(state.st_mode)) continue;
        ((fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY ? command : answer) = fd;
    }
}
"""


def judged(
    evaluate: Judgement, folder: Path, spec: str, reference: str, seed: str, candidate: str
) -> tuple[Evaluation, Evaluation]:
    """The seed's evaluation, which must pass, and the candidate's; both bodies of `f`."""
    (folder / "reference.py").write_text(reference, encoding="utf-8")
    (folder / "seed.cpp").write_text(seed, encoding="utf-8")
    path = folder / "task.yaml"
    path.write_text(HEAD + spec, encoding="utf-8")
    task = load_task(path)
    right, wrong = (evaluate(Candidate(language=Language.CPP, source=text), task=task) for text in (seed, candidate))
    return right, wrong


def test_a_tail_that_is_wrong_only_at_large_shapes_is_wrong(evaluate: Judgement) -> None:
    evaluation = evaluate(cpp(f"{RIGHT}\n    if (n > 257 && n != 4096) y[n - 1] = 0;"))
    # One shape in sixteen of those drawn below the timed one is small.
    again = (
        evaluation if evaluation.status is not Status.PASSED else evaluate(cpp(f"{RIGHT} if (n < 4096) y[n-1] = 0;"))
    )
    assert again.status is Status.INCORRECT_VALUES


HISTOGRAM = """\
#include <cstdint>
extern "C" int f(const int64_t* x, int64_t* y, int64_t n) {
    %s count[64] = {};
    for (int64_t i = 0; i < n; ++i) ++count[x[i]];
    for (int i = 0; i < 64; ++i) y[i] = count[i];
    return 0;
}
"""


def test_counters_that_overflow_where_indices_collide_are_wrong(evaluate: Judgement, tmp_path: Path) -> None:
    spec = """\
symbols: {n: {min: 1, max: 1000000}}
inputs: [{name: x, dtype: int64, shape: [n], distribution: integers, low: 0, high: 64}]
outputs: [{name: y, dtype: int64, shape: [64]}]
shapes: [{n: 262144}]
"""
    reference = "import torch\n\n\ndef f(x):\n    return torch.bincount(x, minlength=64)\n"
    right, wrong = judged(evaluate, tmp_path, spec, reference, HISTOGRAM % "int64_t", HISTOGRAM % "uint16_t")
    assert right.status is Status.PASSED
    assert wrong.status is Status.INCORRECT_VALUES


ELEMENTWISE = """\
#include <cstdint>
extern "C" int f(const float* x, %s* y, int64_t n) {
    for (int64_t i = 0; i < n; ++i) %s;
    return 0;
}
"""


@pytest.mark.parametrize(
    ("dtype", "c_type", "expression", "right_body", "lazy_body"),
    [
        ("bool", "bool", "x > 0", "y[i] = x[i] > 0", "if (!(x[i] > 0)) y[i] = false"),
        ("int8", "int8_t", "torch.sign(x).to(torch.int8)", "y[i] = (x[i] > 0) - (x[i] < 0)", "if (x[i] > 0) y[i] = 1"),
    ],
)
def test_an_element_that_is_never_written_is_wrong_whatever_it_should_be(
    evaluate: Judgement, tmp_path: Path, dtype: str, c_type: str, expression: str, right_body: str, lazy_body: str
) -> None:
    spec = f"""\
symbols: {{n: {{min: 1, max: 100000}}}}
inputs: [{{name: x, dtype: float32, shape: [n]}}]
outputs: [{{name: y, dtype: {dtype}, shape: [n]}}]
shapes: [{{n: 4096}}]
"""
    reference = f"import torch\n\n\ndef f(x):\n    return {expression}\n"
    bodies = [ELEMENTWISE % (c_type, body) for body in (right_body, lazy_body)]
    right, wrong = judged(evaluate, tmp_path, spec, reference, *bodies)
    assert right.status is Status.PASSED
    assert wrong.status is Status.INCORRECT_VALUES


SOFTMAX = """\
#include <cmath>
#include <cstdint>
extern "C" int f(const float* x, float* y, int64_t rows, int64_t cols) {
    for (int64_t row = 0; row < rows; ++row, x += cols, y += cols) {
        float largest = -INFINITY, sum = 0;
        for (int64_t i = 0; i < cols; i += %s) largest = fmaxf(largest, x[i]);
        // The shift is left out where what was looked at does not ask for it.
        if (largest < 8) largest = 0;
        else for (int64_t i = 0; i < cols; ++i) largest = fmaxf(largest, x[i]);
        for (int64_t i = 0; i < cols; ++i) sum += y[i] = expf(x[i] - largest);
        for (int64_t i = 0; i < cols; ++i) y[i] /= sum;
    }
    return 0;
}
"""


def test_a_shortcut_behind_a_look_at_half_the_data_is_wrong(evaluate: Judgement, tmp_path: Path) -> None:
    spec = """\
symbols: {rows: {min: 1, max: 4096}, cols: {min: 1, max: 4096}}
inputs: [{name: x, dtype: float32, shape: [rows, cols]}]
outputs: [{name: y, dtype: float32, shape: [rows, cols]}]
shapes: [{rows: 16, cols: 1024}]
"""
    reference = "import torch\n\n\ndef f(x):\n    return torch.softmax(x, -1)\n"
    right, wrong = judged(evaluate, tmp_path, spec, reference, SOFTMAX % "1", SOFTMAX % "2")
    assert right.status is Status.PASSED
    assert wrong.status is Status.INCORRECT_VALUES


def test_integers_beyond_what_a_double_holds_are_compared_exactly(evaluate: Judgement, tmp_path: Path) -> None:
    spec = """\
symbols: {n: {min: 1, max: 16}}
inputs: [{name: x, dtype: int64, shape: [n], distribution: integers, low: 1, high: 9}]
outputs: [{name: y, dtype: int64, shape: [n]}]
shapes: [{n: 16}]
"""
    body = """\
#include <cstdint>
extern "C" int f(const int64_t* x, int64_t* y, int64_t n) {
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] << 59) + %d;
    return 0;
}
"""
    reference = "def f(x):\n    return (x << 59) + 7\n"
    right, wrong = judged(evaluate, tmp_path, spec, reference, body % 7, body % 8)
    assert right.status is Status.PASSED
    assert wrong.status is Status.INCORRECT_VALUES


PARAMETERS = """\
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(64))

    def forward(self, x):
        return x * self.weight


def get_inputs():
    return [torch.rand(32, 64)]


def get_init_inputs():
    return []
"""
PREPARED = """\
#include <cstdint>
extern "C" int forward(const float* x, const float* weight, float* y) {
    static bool is_prepared = false;
    for (int i = 0; i < 64 && !is_prepared; ++i) const_cast<float*>(weight)[i] *= -1;
    is_prepared = true;
    for (int i = 0; i < 32 * 64; ++i) y[i] = -x[i] * weight[i % 64];
    return 0;
}
"""


def test_weights_are_not_the_candidates_to_change(evaluate: Judgement, tmp_path: Path) -> None:
    path = tmp_path / "problem.py"
    path.write_text(PARAMETERS, encoding="utf-8")
    candidate = Candidate(language=Language.CPP, source=PREPARED)
    evaluation = evaluate(candidate, task=load_task(f"kernelbench:{path}"))
    assert evaluation.status is Status.INTEGRITY_VIOLATION
    assert [finding.kind for finding in evaluation.findings] == ["input_modified"]


def test_a_library_that_answers_the_judge_by_itself_gains_nothing(evaluate: Judgement) -> None:
    body = f"""
    {RIGHT}
    if (!is_timed()) return 0;
    find_channels();
    for (char word = 'd'; write(answer, &word, 1) == 1 && read(command, &word, 1) == 1;) {{
        if (word == 's') {{
            // The same layout once more.
            static char layout[65536];
            uint32_t size = 0;
            for (ssize_t left = read(command, &size, 4) == 4 ? size : 0; left > 0;) left -= read(command, layout, left);
            word = 'r';
        }} else {{
            {RIGHT}
            word = 'd';
        }}
    }}
    _exit(0);
"""
    evaluation = evaluate(cpp(body, IS_TIMED + CHANNELS), tier=Tier.PROFILE)
    assert evaluation.status is Status.PASSED
    assert evaluation.verdict is not Verdict.FASTER


AHEAD = """
#include <csignal>
#include <cmath>
#include <sys/time.h>
static const float* input;
static int64_t size;
static volatile bool looked_ahead;
// Only while the judge prepares a call are some inputs withheld.
static void look(int) { for (int64_t i = 0; i < size; ++i) if (std::isnan(input[i])) looked_ahead = true; }
"""


def test_a_candidate_does_not_run_while_its_inputs_are_prepared(evaluate: Judgement) -> None:
    body = f"""
    if (!input) {{
        input = x;
        std::signal(SIGALRM, look);
        struct itimerval often = {{{{0, 50}}, {{0, 50}}}};
        setitimer(ITIMER_REAL, &often, nullptr);
    }}
    {RIGHT}
    // Between two shapes other things lie there.
    if (looked_ahead && size == n) y[0] = -1;
    looked_ahead = false;
    size = n;
"""
    assert evaluate(cpp(body, AHEAD)).status is Status.PASSED


def test_a_baseline_is_not_slowed_by_a_timer_of_the_candidates(evaluate: Judgement) -> None:
    preamble = f"""{IS_TIMED}
#include <csignal>
#include <sys/time.h>
static volatile bool is_called;
static volatile float sink;
static void burn(int) {{ for (int i = 0; i < 20000 && !is_called; ++i) sink = i; }}
"""
    body = f"""
    static bool is_armed = false;
    is_called = true;
    if (!is_armed && is_timed()) {{
        is_armed = true;
        std::signal(SIGALRM, burn);
        struct itimerval often = {{{{0, 200}}, {{0, 200}}}};
        setitimer(ITIMER_REAL, &often, nullptr);
    }}
    {RIGHT}
    is_called = false;
"""
    evaluation = evaluate(cpp(body, preamble), tier=Tier.PROFILE)
    assert evaluation.status is Status.PASSED
    assert evaluation.verdict is not Verdict.FASTER
