"""CI and `make` install one exact version of everything."""

from __future__ import annotations

from importlib.metadata import distribution

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from repository import ROOT

EXTRAS = frozenset({"torch", "triton", "cuda", "dev"})
"""What `make test` installs."""


def test_everything_that_the_tests_run_with_is_pinned() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    requirements = [Requirement(line) for line in lines if line and not line.startswith("#")]
    pinned = {canonicalize_name(requirement.name): str(requirement.specifier) for requirement in requirements}
    installed = {name: f"=={distribution(name).version.split('+')[0]}" for name in _needed("kernelguild", EXTRAS)}
    installed.pop("kernelguild")
    assert installed.items() <= pinned.items()


def _needed(name: str, extras: frozenset[str]) -> set[str]:
    """The names that a package brings, its own among them; torch pins what a CUDA build of it adds."""
    seen: set[tuple[str, frozenset[str]]] = set()
    left = [(name, extras)]
    while left:
        package, wanted = left.pop()
        if (package, wanted) not in seen:
            seen.add((package, wanted))
            left += [
                (canonicalize_name(requirement.name), frozenset(requirement.extras))
                for requirement in map(Requirement, distribution(package).requires or ())
                if package != "torch" or not requirement.name.startswith(("cuda-", "nvidia-", "triton"))
                if _applies(requirement, wanted)
            ]
    return {package for package, _ in seen}


def _applies(requirement: Requirement, extras: frozenset[str]) -> bool:
    marker = requirement.marker
    return marker is None or any(marker.evaluate({"extra": extra}) for extra in extras | {""})
