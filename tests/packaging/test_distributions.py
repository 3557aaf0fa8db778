"""What users install: wheel, source distribution and editable checkout, each in an environment of its own."""

from __future__ import annotations

import email
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import pytest

from repository import FLOORS, ROOT, files

BUILD_S = 120
SOURCES = ("pyproject.toml", "MANIFEST.in", "README.md", "CHANGELOG.md", "LICENSE", "src", *FLOORS)


@dataclass(frozen=True)
class Distributions:
    """What one checkout builds."""

    checkout: Path
    wheel: Path
    """Built from the checkout."""
    sdist: Path
    wheel_of_sdist: Path


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Distributions:
    """Built from a copy, since a build leaves folders in its checkout."""
    folder = tmp_path_factory.mktemp("distributions")
    checkout = folder / "checkout"
    checkout.mkdir()
    for name in SOURCES:
        source = ROOT / name
        if source.is_dir():
            ignore = shutil.ignore_patterns("__pycache__", "*.egg-info", ".*")
            shutil.copytree(source, checkout / name, symlinks=True, ignore=ignore)
        else:
            shutil.copy(source, checkout / name)
    _build(checkout, folder / "whole")  # a source distribution, and a wheel from that
    _build(checkout, folder / "direct", "--wheel")
    return Distributions(
        checkout=checkout,
        wheel=_only(folder / "direct", "*.whl"),
        sdist=_only(folder / "whole", "*.tar.gz"),
        wheel_of_sdist=_only(folder / "whole", "*.whl"),
    )


@pytest.fixture(scope="session")
def dependencies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is installed beside kernelguild, as links, so that nothing is downloaded again."""
    folder = tmp_path_factory.mktemp("dependencies")
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if "kernelguild" not in path.name:
            (folder / path.name).symlink_to(path)
    return folder


@pytest.mark.parametrize("form", ["wheel", "sdist", "editable"])
def test_an_installed_package_runs_and_claims_no_common_names(
    form: str, built: Distributions, dependencies: Path, tmp_path: Path
) -> None:
    environment = tmp_path / "environment"
    venv.create(environment, symlinks=True)
    python = environment / "bin" / "python"
    site = _only(environment / "lib", "python*") / "site-packages"
    (site / "dependencies.pth").write_text(f"{dependencies}\n", encoding="utf-8")
    what: dict[str, tuple[str | Path, ...]] = {
        "wheel": (built.wheel,),
        "sdist": (built.sdist,),
        "editable": ("--editable", built.checkout),
    }
    _run(
        *(sys.executable, "-m", "pip", "--python", python, "install", "--quiet"),
        *("--no-deps", "--no-index", "--no-build-isolation", "--disable-pip-version-check", *what[form]),
        cwd=tmp_path,
    )

    home = built.checkout / "src" if form == "editable" else site
    probe = (
        "import importlib.util, kernelguild.server.cli as cli\n"
        f"print(cli.__file__, [name for name in {FLOORS} if importlib.util.find_spec(name)])"
    )
    assert _run(python, "-c", probe, cwd=tmp_path) == f"{home}/kernelguild/server/cli.py []\n"
    said = _run(environment / "bin" / "kernelguild", "--version", cwd=tmp_path)
    assert said == f"kernelguild {version('kernelguild')}\n"


def test_the_wheel_holds_every_file_of_the_floors_and_no_other(built: Distributions) -> None:
    expected = {f"kernelguild/{path.relative_to(ROOT)}" for floor in FLOORS for path in files(ROOT / floor)}
    assert {Path(name).suffix for name in expected} >= {".html", ".json", ".md", ".py", ".sql", ".yaml"}
    with zipfile.ZipFile(built.wheel) as wheel:
        held = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert held == expected | {"kernelguild/__init__.py", "kernelguild/py.typed"}


def test_the_wheel_tells_licence_and_extras(built: Distributions) -> None:
    with zipfile.ZipFile(built.wheel) as wheel:
        (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        described = email.message_from_bytes(wheel.read(name))
    assert described["License-Expression"] == "Apache-2.0"
    assert set(described.get_all("Provides-Extra", ())) == {"anthropic", "cuda", "dev", "ray", "torch", "triton"}
    assert described.get_payload() == (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_source_distribution_builds_the_same_wheel(built: Distributions) -> None:
    assert _contents(built.wheel_of_sdist) == _contents(built.wheel)
    with tarfile.open(built.sdist) as sdist:
        roots = {name.split("/")[1] for name in sdist.getnames() if "/" in name}
    assert roots >= {"CHANGELOG.md", "LICENSE", "README.md", "pyproject.toml", "src"}
    assert roots.isdisjoint({"tests", *FLOORS})


def _build(checkout: Path, out: Path, *options: str) -> None:
    _run(sys.executable, "-m", "build", "--no-isolation", "--outdir", out, *options, checkout, cwd=checkout.parent)


def _run(*command: str | Path, cwd: Path) -> str:
    environment = {"HOME": str(cwd), "PATH": os.defpath}
    done = subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=BUILD_S, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist() if not name.endswith("/RECORD")}


def _only(folder: Path, pattern: str) -> Path:
    (found,) = folder.glob(pattern)
    return found
