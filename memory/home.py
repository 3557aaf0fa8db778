"""Where kernelguild keeps its state: one folder, shared by every process that works on it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from .errors import ConfigError

HOME_VARIABLE = "KERNELGUILD_HOME"
HOME_FOLDER = ".kernelguild"


def find_home(explicit: Path | None, *, environ: Mapping[str, str], cwd: Path) -> Path:
    """The absolute path of the home; it is not created.

    In this order: `explicit` (`--home`), KERNELGUILD_HOME, the nearest existing `.kernelguild/` from `cwd` upwards,
    `~/.kernelguild`. Relative paths are taken from `cwd`; an empty variable counts as unset.

    Raises:
        ConfigError: HOME is needed and not set.
    """
    if explicit is not None:
        return _absolute(explicit, environ, cwd)
    if named := environ.get(HOME_VARIABLE):
        return _absolute(Path(named), environ, cwd)
    for folder in (cwd, *cwd.parents):
        if (folder / HOME_FOLDER).is_dir():
            return folder / HOME_FOLDER
    return _user_folder(environ) / HOME_FOLDER


def _absolute(path: Path, environ: Mapping[str, str], cwd: Path) -> Path:
    if path.parts[:1] == ("~",):
        path = _user_folder(environ).joinpath(*path.parts[1:])
    return cwd / path


def _user_folder(environ: Mapping[str, str]) -> Path:
    if folder := environ.get("HOME"):
        return Path(folder)
    raise ConfigError(f"HOME is not set, so there is no ~/{HOME_FOLDER}: give --home or set {HOME_VARIABLE}")
