"""What a candidate may do wrong: each ends with a clear status, and the judge goes on."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from affine_task import RIGHT, Judgement, cpp, pytorch
from kernelguild.memory.errors import ConfigError
from kernelguild.memory.schema import Candidate, FunctionReference, Language, Status, Task, Tier


@pytest.mark.parametrize(
    ("body", "preamble", "status", "words"),
    [
        ("    y[0] = 1", "", Status.COMPILE_ERROR, "expected ';'"),
        ("    undefined_function(x);", "", Status.COMPILE_ERROR, "undefined_function"),
        ("    helper(y);", "void helper(float*);", Status.COMPILE_ERROR, "helper"),
        ("    for (int64_t i = 0; i < n; ++i) y[i] = 2 * x[i];", "", Status.INCORRECT_VALUES, "beyond tolerance"),
        ("", "", Status.INCORRECT_VALUES, "got nan"),
        (RIGHT + "\n    return 7;", "", Status.RUNTIME_ERROR, "the entry returned 7"),
        ("    *(volatile int*)0 = 1;", "", Status.RUNTIME_ERROR, "SIGSEGV"),
        ("    __builtin_trap();", "", Status.RUNTIME_ERROR, "SIGILL"),
        ("    abort();", "#include <cstdlib>", Status.RUNTIME_ERROR, "SIGABRT"),
        ("    _exit(0);", "#include <unistd.h>", Status.RUNTIME_ERROR, "exited with code 0 before it delivered"),
        ("    for (volatile int spin = 0;; ) spin = spin + 1;", "", Status.TIMEOUT, "more than 2 s"),
        (RIGHT + "\n    y[n] = 3;", "", Status.RUNTIME_ERROR, "wrote past the end of (or before) y"),
        ("    const_cast<float*>(x)[0] = 5;\n" + RIGHT, "", Status.INTEGRITY_VIOLATION, "changed its input x"),
        (
            "    for (std::size_t s = 1 << 28;; ) { auto* p = new char[s]; std::memset(p, 1, s); }",
            "#include <cstring>\n#include <new>",
            Status.RESOURCE_LIMIT,
            "memory",
        ),
        (
            '    for (;;) std::fputs("................................................................", stdout);',
            "#include <cstdio>",
            Status.RESOURCE_LIMIT,
            "output limit",
        ),
    ],
)  # fmt: skip
def test_a_wrong_candidate_gets_its_status_and_the_reason(
    evaluate: Judgement, body: str, preamble: str, status: Status, words: str
) -> None:
    evaluation = evaluate(cpp(body, preamble))
    assert evaluation.status is status, evaluation.message
    assert words in evaluation.message + (evaluation.compile.diagnostics if evaluation.compile else "")
    assert evaluate(cpp(RIGHT)).status is Status.PASSED


def test_a_wrong_signature_is_a_compile_error_that_shows_the_right_one(evaluate: Judgement) -> None:
    source = 'extern "C" int affine(const double* x, double* y, long n) { return 0; }'
    evaluation = evaluate(Candidate(language=Language.CPP, source=source), Tier.COMPILE)
    assert evaluation.status is Status.COMPILE_ERROR
    assert evaluation.compile is not None
    assert "int affine(const float*, float*, int64_t)" in evaluation.compile.diagnostics


def test_a_library_without_the_entry_is_a_compile_error(evaluate: Judgement) -> None:
    evaluation = evaluate(Candidate(language=Language.CPP, source="int other() { return 0; }"), Tier.COMPILE)
    assert evaluation.status is Status.COMPILE_ERROR
    assert 'extern "C"' in evaluation.message


def test_a_source_that_never_finishes_compiling_is_stopped(evaluate: Judgement, affine: Task) -> None:
    # Doubling template recursion: 2^60 instantiations.
    endless = "template <int N, int M> struct T { enum { v = T<N-1, 2*M>::v + T<N-1, 2*M+1>::v }; };\n"
    endless += "template <int M> struct T<0, M> { enum { v = 1 }; };\nint all = T<60, 0>::v;"
    constraints = affine.constraints.model_copy(update={"compile_timeout_s": 1.0})
    evaluation = evaluate(cpp(RIGHT, endless), Tier.COMPILE, affine.model_copy(update={"constraints": constraints}))
    assert evaluation.status is Status.TIMEOUT
    assert "compiling took more than 1 s" in evaluation.message


@pytest.mark.parametrize("directive", ['#include "{path}"', '__asm__(".incbin \\"{path}\\"");'])
def test_the_compiler_cannot_read_what_it_should_not(evaluate: Judgement, tmp_path: Path, directive: str) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("the-secret-word = 1;", encoding="utf-8")
    evaluation = evaluate(cpp(RIGHT, directive.format(path=secret)), Tier.COMPILE)
    assert evaluation.status is Status.COMPILE_ERROR
    assert evaluation.compile is not None
    assert "the-secret-word" not in evaluation.compile.diagnostics


def test_the_candidate_cannot_read_write_or_connect_outside(evaluate: Judgement, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("secret", encoding="utf-8")
    target = tmp_path / "written.txt"
    preamble = (
        "#include <fcntl.h>\n#include <sys/socket.h>\n#include <netinet/in.h>\n#include <csignal>\n#include <unistd.h>"
    )
    body = f"""
    if (open("{secret}", O_RDONLY) >= 0) return 11;
    if (open("{target}", O_WRONLY | O_CREAT, 0600) >= 0) return 12;
    if (open("/proc/self/environ", O_RDONLY) >= 0) return 13;
    int s = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{{}};
    address.sin_family = AF_INET; address.sin_port = htons(80); address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (s >= 0 && connect(s, (sockaddr*)&address, sizeof address) == 0) return 14;
    if (kill({os.getpid()}, 0) == 0) return 15;
    {RIGHT}"""
    assert evaluate(cpp(body, preamble)).status is Status.PASSED
    assert not target.exists()


@pytest.mark.parametrize("threads", [1, 4])
def test_a_candidate_has_the_tasks_threads_and_no_more(evaluate: Judgement, affine: Task, threads: int) -> None:
    # The candidate reports how many threads it could start.
    preamble = "#include <pthread.h>\n#include <unistd.h>\nstatic void* hog(void*) { for (;;) pause(); }"
    body = """
    int count = 0;
    for (pthread_t thread; count < 90 && pthread_create(&thread, nullptr, hog, nullptr) == 0;) ++count;
    return 100 + count;"""
    constraints = affine.constraints.model_copy(update={"threads": threads})
    task = affine.model_copy(update={"constraints": constraints})
    evaluation = evaluate(cpp(body, preamble), Tier.VERIFY, task)
    assert f"the entry returned {100 + threads - 1};" in evaluation.message


FORKS = {
    "fork": "fork()",
    "vfork": "vfork()",
    "clone": "syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)",
    "clone3": "syscall(SYS_clone3, arguments, sizeof arguments)",
    "a thread of another process": "syscall(SYS_clone, CLONE_VM | SIGCHLD, 0, 0, 0, 0)",
}


@pytest.mark.parametrize("attempt", FORKS.values(), ids=FORKS)
def test_a_candidate_starts_no_process(evaluate: Judgement, affine: Task, attempt: str) -> None:
    preamble = "#include <csignal>\n#include <sched.h>\n#include <sys/syscall.h>\n#include <unistd.h>"
    body = f"""
    unsigned long arguments[11] = {{0, 0, 0, 0, SIGCHLD}}; (void)arguments;
    if ({attempt} >= 0) _exit(9);
    {RIGHT}"""
    constraints = affine.constraints.model_copy(update={"threads": 4})
    task = affine.model_copy(update={"constraints": constraints})
    evaluation = evaluate(cpp(body, preamble), Tier.VERIFY, task)
    assert evaluation.status is Status.PASSED, evaluation.message


def test_a_python_candidate_that_starts_a_process_hears_that_it_may_not(evaluate: Judgement) -> None:
    evaluation = evaluate(pytorch("import subprocess\nsubprocess.run(['/bin/true'])\nclass ModelNew: pass\n"))
    assert evaluation.status is Status.RESOURCE_LIMIT, evaluation.message
    assert "more processes or threads" in evaluation.message


@pytest.mark.parametrize(
    ("source", "status", "words"),
    [
        ("class ModelNew:\n    def __call__(self, x)\n", Status.COMPILE_ERROR, "candidate.py:2"),
        ("class Other: pass\n", Status.COMPILE_ERROR, "no class ModelNew"),
        ("import nonexistent_package\nclass ModelNew: pass\n", Status.RUNTIME_ERROR, "nonexistent_package"),
        ("class ModelNew:\n    def __call__(self, x): return x.double()\n", Status.INCORRECT_DTYPE, "float64"),
        ("class ModelNew:\n    def __call__(self, x): return x[:-1]\n", Status.INCORRECT_SHAPE, "instead of"),
        ("class ModelNew:\n    def __call__(self, x): return [1.0]\n", Status.INCORRECT_DTYPE, "not a torch.Tensor"),
        ("class ModelNew:\n    def __call__(self, x): raise ValueError('no idea')\n", Status.RUNTIME_ERROR, "no idea"),
        ("class ModelNew:\n    def __call__(self, x): return 2 * x\n", Status.INCORRECT_VALUES, "beyond tolerance"),
    ],
)  # fmt: skip
def test_a_wrong_pytorch_candidate_gets_its_status(
    evaluate: Judgement, source: str, status: Status, words: str
) -> None:
    evaluation = evaluate(pytorch(source))
    assert evaluation.status is status, evaluation.message
    assert words in evaluation.message


def test_a_right_pytorch_candidate_passes_the_same_task(evaluate: Judgement) -> None:
    evaluation = evaluate(pytorch("class ModelNew:\n    def __call__(self, x): return 2 * x + 1\n"))
    assert evaluation.status is Status.PASSED, evaluation.message


def test_a_candidate_that_is_wrong_everywhere_is_refused_at_the_smallest_shape(evaluate: Judgement) -> None:
    evaluation = evaluate(cpp("    for (int64_t i = 0; i < n; ++i) y[i] = 3 * x[i] + 2;"))
    assert evaluation.status is Status.INCORRECT_VALUES
    assert "at hidden shape n=1," in evaluation.message


def test_a_candidate_that_is_wrong_at_the_timed_shape_alone_is_refused_there(evaluate: Judgement) -> None:
    evaluation = evaluate(cpp(RIGHT + "\n    if (n == 4096) y[0] += 1;"))
    assert evaluation.status is Status.INCORRECT_VALUES
    assert "at shape n=4096," in evaluation.message


def test_a_reference_that_fails_is_the_tasks_fault_and_not_the_candidates(evaluate: Judgement, affine: Task) -> None:
    assert isinstance(affine.reference, FunctionReference)
    source = "def affine(x):\n    return 2 * x + 1 if x.numel() == 4096 else x.no_such_method()\n"
    failing = affine.model_copy(update={"reference": affine.reference.model_copy(update={"source": source})})
    with pytest.raises(ConfigError, match="no_such_method"):
        evaluate(cpp(RIGHT), task=failing)
    assert evaluate(cpp("    y[0] = 1"), task=failing).status is Status.COMPILE_ERROR
