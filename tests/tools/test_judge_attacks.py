"""What a hostile candidate may try: the judge keeps its verdict, its life and its disk."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import pytest

from affine_task import RIGHT, Judgement, cpp, pytorch
from kernelguild.memory.errors import ConfigError, InputError
from kernelguild.memory.schema import Language, Status, Task, Tier
from kernelguild.tools.candidates import load_candidate
from kernelguild.tools.judge.bench import FOLDER_PREFIX, remove_tree
from kernelguild.tools.tasks import load_task

SYSTEM = "#include <unistd.h>\n#include <fcntl.h>\n#include <csignal>\n#include <cstdio>\n#include <sched.h>"
EVERY_DESCRIPTOR = "for (int fd = 1; fd < 16; ++fd)"

# Answers the first READY itself, fills the pipe in which the judge sends, and never reads it.
DEAF = """\
import fcntl, os, time


class ModelNew:
    def __init__(self):
        for descriptor in range(3, 6):
            try:
                writer = os.open(f"/proc/self/fd/{descriptor}", os.O_WRONLY | os.O_NONBLOCK)
            except OSError:
                continue
            if fcntl.fcntl(descriptor, fcntl.F_GETFL) & 3 == os.O_WRONLY:
                os.write(descriptor, b"r")
            elif fcntl.fcntl(descriptor, fcntl.F_GETFL) & 3 == os.O_RDONLY:
                try:
                    while True:
                        os.write(writer, b"q")
                except BlockingIOError:
                    pass
        time.sleep(60)
"""


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("raise(40);", Status.RUNTIME_ERROR),
        ("kill(1, SIGINT); kill(1, SIGTERM); kill(1, SIGKILL); kill(-1, SIGINT);", Status.INCORRECT_VALUES),
        (EVERY_DESCRIPTOR + " { ftruncate(fd, 0); }", Status.INCORRECT_VALUES),
        ('fputs("last words\\n", stderr); fcntl(2, F_SETFL, O_DIRECT); return 3;', Status.RUNTIME_ERROR),
        ('fputs("last words\\n", stderr); lseek(2, 1ll << 40, SEEK_SET); return 3;', Status.RUNTIME_ERROR),
    ],
)  # fmt: skip
def test_the_judge_survives_a_candidate_that_turns_on_it(evaluate: Judgement, body: str, status: Status) -> None:
    evaluation = evaluate(cpp("    " + body, SYSTEM))
    assert evaluation.status is status, evaluation.message
    assert ("last words" in evaluation.output_tail) == ("last words" in body)
    assert evaluate(cpp(RIGHT)).status is Status.PASSED


def test_a_candidate_that_does_not_listen_is_out_of_time(evaluate: Judgement, affine: Task) -> None:
    constraints = affine.constraints.model_copy(update={"setup_timeout_s": 4.0})
    evaluation = evaluate(pytorch(DEAF), Tier.VERIFY, affine.model_copy(update={"constraints": constraints}))
    # A worker that runs as another user cannot open the judge's pipe; then its sleep is what takes too long.
    assert evaluation.status is Status.TIMEOUT, evaluation.message


def test_nothing_that_a_candidate_wrote_outlives_its_evaluation(evaluate: Judgement) -> None:
    body = '    if (FILE* file = fopen("left-behind", "w")) fclose(file);\n' + RIGHT
    assert evaluate(cpp(body, SYSTEM)).status is Status.PASSED
    folders = Path(tempfile.gettempdir()).glob(f"{FOLDER_PREFIX}*")
    assert not [path for folder in folders for path in folder.glob("*/left-behind")]


def test_a_folder_that_resists_is_removed_all_the_same(tmp_path: Path) -> None:
    hostile, outside = tmp_path / "scratch", tmp_path / "outside"
    outside.mkdir(mode=0o750)
    closed = hostile / "closed"
    closed.mkdir(parents=True)
    (closed / "file").touch()
    (hostile / "link").symlink_to(outside)
    closed.chmod(0)
    deep = "import os\nfor _ in range(3000): os.mkdir('deeper'); os.chdir('deeper')"
    subprocess.run(["python3", "-c", deep], cwd=hostile, check=True)
    remove_tree(hostile)
    assert not hostile.exists()
    assert outside.stat().st_mode & 0o777 == 0o750


def test_a_folder_of_links_is_removed_and_nothing_that_they_lead_to(tmp_path: Path) -> None:
    hostile, outside = tmp_path / "scratch", tmp_path / "outside"
    outside.mkdir()
    (outside / "file").touch()
    hostile.mkdir()
    (hostile / "link").symlink_to(outside)
    (hostile / "hard").hardlink_to(outside / "file")
    remove_tree(hostile)
    assert not hostile.exists()
    assert (outside / "file").exists()


def test_a_library_full_of_padding_is_not_stored(evaluate: Judgement) -> None:
    padding = "static volatile char padding[16 << 20] = {1};"
    evaluation = evaluate(cpp("    padding[5] = 1;\n" + RIGHT, padding), Tier.COMPILE)
    assert evaluation.status is Status.PASSED, evaluation.message
    assert evaluation.artifacts == ()


def test_a_compiler_that_talks_without_end_is_cut_short(evaluate: Judgement) -> None:
    evaluation = evaluate(cpp(RIGHT, f'#pragma message "{"x" * 60}"\n' * 12000), Tier.COMPILE)
    assert [artifact.size_bytes for artifact in evaluation.artifacts if artifact.name == "compile.log"] == [1 << 20]
    assert evaluation.compile is not None
    assert evaluation.compile.truncated


def test_one_endless_line_of_python_does_not_fill_the_answer(evaluate: Judgement) -> None:
    evaluation = evaluate(pytorch(f'x = "{"a" * 500_000}\nclass ModelNew: pass\n'), Tier.COMPILE)
    assert evaluation.compile is not None
    assert len(evaluation.compile.diagnostics) < 1000


@pytest.mark.parametrize("name", ["/dev/zero", "pipe"])
def test_a_source_that_is_no_file_is_refused_at_once(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name == "pipe":
        os.mkfifo(path)
    with pytest.raises(InputError, match="not a regular file"):
        load_candidate(path, Language.CPP)
    with pytest.raises(ConfigError, match="not a regular file"):
        load_task(path)


def test_a_hidden_shape_without_elements_is_the_tasks_fault(evaluate: Judgement, affine: Task) -> None:
    tensors = {
        key: tuple(spec.model_copy(update={"shape": ("n - 100",)}) for spec in getattr(affine, key))
        for key in ("inputs", "outputs")
    }
    with pytest.raises(ConfigError, match="raise a symbol's min"):
        evaluate(cpp(RIGHT), Tier.VERIFY, affine.model_copy(update=tensors))


def test_hidden_shapes_never_outgrow_the_machine(evaluate: Judgement, affine: Task) -> None:
    tensors = {
        key: tuple(spec.model_copy(update={"shape": ("n * n * n * n",)}) for spec in getattr(affine, key))
        for key in ("inputs", "outputs")
    }
    large = affine.model_copy(update={**tensors, "shapes": ({"n": 2},)})
    evaluation = evaluate(cpp("    n = n * n * n * n;\n" + RIGHT), Tier.VERIFY, large)
    assert evaluation.status is Status.PASSED, evaluation.message


ESCAPES = {
    "a Unix socket": "socket(AF_UNIX, SOCK_STREAM, 0) >= 0",
    "a pair of Unix sockets": "socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0",
    "another mode": 'chmod("mine", 0777) == 0',
    "another time": 'utimensat(AT_FDCWD, "mine", nullptr, 0) == 0',
    "an attribute": 'setxattr("mine", "user.a", "b", 1, 0) == 0',
    "another core": "sched_setaffinity(0, sizeof all, &all) == 0",
    "another namespace": "unshare(CLONE_NEWUSER) == 0",
    "tracing": "ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0",
    "a ring": "syscall(425, 8, ring) >= 0",
}


@pytest.mark.parametrize("attempt", ESCAPES.values(), ids=ESCAPES)
def test_a_call_that_only_reaches_outside_is_refused(evaluate: Judgement, attempt: str) -> None:
    preamble = """
#include <fcntl.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>"""
    body = f"""
    int pair[2]; char ring[256] = {{}}; cpu_set_t all; CPU_ZERO(&all);
    for (int cpu = 0; cpu < 64; ++cpu) CPU_SET(cpu, &all);
    (void)pair; (void)ring;
    close(open("mine", O_WRONLY | O_CREAT, 0600));
    if ({attempt}) return 99;
    {RIGHT}"""
    assert evaluate(cpp(body, preamble)).status is Status.PASSED
