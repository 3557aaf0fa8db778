"""The judge on hosts that refuse something: it says what, and runs nothing unconfined that nobody allowed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from affine_task import write_task

BOUND_S = 120
REFUSING = str(Path(__file__).with_name("refusing_host.py"))


def kernelguild(refused: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, REFUSING, refused, sys.executable, "-P", "-m", "kernelguild.server.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=BOUND_S, check=False)


def judge(tmp_path: Path, refused: str, *options: str) -> subprocess.CompletedProcess[str]:
    task = write_task(tmp_path)
    home = ("--home", str(tmp_path / "home"))
    return kernelguild(
        refused, *options, "verify", str(tmp_path / "seed.cpp"), "--task", str(task), "--json", *home
    )  # fmt: skip


@pytest.mark.parametrize(
    ("refused", "missing"),
    [("unshare", "user_namespace: unshare(user_namespace)"), ("landlock_create_ruleset", "landlock: this kernel has")],
)
def test_a_host_that_cannot_confine_judges_only_when_that_is_allowed(
    tmp_path: Path, refused: str, missing: str
) -> None:
    done = judge(tmp_path, refused)
    assert (done.returncode, done.stdout) == (3, "")
    assert missing in done.stderr
    assert "--unconfined" in done.stderr
    verdict = judge(tmp_path, refused, "--unconfined")
    isolation = json.loads(verdict.stdout)["isolation"]
    assert verdict.returncode == 0, verdict.stderr
    assert isolation["confined"] is False
    assert missing in isolation["missing"]
    assert "seccomp, no_capabilities, rlimits" in isolation["layers"]


def test_doctor_says_whether_it_judges_unconfined(tmp_path: Path) -> None:
    refused = kernelguild("unshare", "doctor", "--home", str(tmp_path))
    assert refused.returncode == 3
    assert "isolation: unavailable: refused: user_namespace" in refused.stdout
    allowed = kernelguild("unshare", "--unconfined", "doctor", "--home", str(tmp_path))
    assert allowed.returncode == 0
    assert "isolation: ok: unconfined, as you allow: only no_new_privs, landlock, seccomp" in allowed.stdout


def test_a_host_without_mounts_confines_and_says_what_it_lacks(tmp_path: Path) -> None:
    done = judge(tmp_path, "mount")
    isolation = json.loads(done.stdout)["isolation"]
    assert isolation["confined"] is True
    assert "mount_namespace" not in isolation["layers"]
    assert isolation["missing"].startswith("mount_namespace: mount(")


def test_an_ordinary_user_confines_like_root(tmp_path: Path) -> None:
    """Root tries it as a user of its own namespace who may become nobody else."""
    task = write_task(tmp_path)
    command = [sys.executable, "-P", "-m", "kernelguild.server.cli", "verify", str(tmp_path / "seed.cpp")]
    command += ["--task", str(task), "--json", "--home", str(tmp_path / "home")]
    inside = ["unshare", "--user", "--map-user=1000", "--map-group=1000", *command]
    done = subprocess.run(inside, capture_output=True, text=True, timeout=BOUND_S, check=False, env=os.environ)
    isolation = json.loads(done.stdout)["isolation"]
    assert isolation["confined"] is True
    assert "missing" not in isolation
    assert "mount_namespace" in isolation["layers"]
