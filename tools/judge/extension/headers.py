"""torch's headers, precompiled: reading them takes three quarters of a build, and the object is the same byte for byte.

They cost two builds' time and 0.8 GB, so they are made where a set of flags comes up again, not at its first build.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from .call import InlineCall
from .job import HEADERS_NAME

PLACE = f"torch/{HEADERS_NAME}"
"""Where the compiler looks for it below a folder of headers."""

SAFE_FLAG = re.compile(r"-(O\w*|m[\w.=+-]+|f[\w=-]+|W[\w=+-]*|std=[\w+]+|pthread|pipe|g\d?)")
"""Flags under which the headers mean what they mean to every file; `-D` and the like are not among them."""
WORTH_IT_AFTER = 2
"""Builds with the same flags, without which nobody knows that there will be more."""
MAX_SETS = 2
MAX_HEADER_BYTES = 2 << 30
NEEDED_BYTES = 8 << 30
"""Free space below which none are made."""


@dataclass
class HeaderStore:
    """Precompiled headers by flags and toolchain, on disk between judges."""

    folder: Path
    _lent: dict[str, Path] = field(default_factory=dict)

    def lend(self, key: str, folder: Path) -> Path | None:
        """The headers in a folder that workers may read; None where there are none.

        Args:
            folder: of this judge; the file is linked there, or copied from another file system.
        """
        if key in self._lent:
            return self._lent[key]
        kept, lent = self.folder / key / PLACE, folder / f"headers-{key}"
        if not kept.is_file():
            return None
        try:
            (lent / PLACE).parent.mkdir(mode=0o755, parents=True)
            try:
                os.link(kept, lent / PLACE)
            except OSError:
                shutil.copyfile(kept, lent / PLACE)
            os.utime(self.folder / key)
        except OSError:
            shutil.rmtree(lent, ignore_errors=True)
            return None
        self._lent[key] = lent
        return lent

    def are_worth_it(self, key: str) -> bool:
        """Count one build that would have used them; whether it is time to make them."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with (self.folder / f"{key}.builds").open("a+b") as builds:
                builds.write(b".")
                count = builds.tell()
            return count > WORTH_IT_AFTER and shutil.disk_usage(self.folder).free > NEEDED_BYTES
        except OSError:
            return False

    def put(self, key: str, file: Path) -> None:
        """Take a file over; that there is no room is no reason to fail."""
        new = self.folder / f".new-{key}-{os.getpid()}"
        try:
            (new / PLACE).parent.mkdir(parents=True)
            shutil.move(file, new / PLACE)
            (new / PLACE).chmod(0o644)
            new.rename(self.folder / key)
        except OSError:
            shutil.rmtree(new, ignore_errors=True)
        sets = sorted((path for path in self.folder.iterdir() if path.is_dir()), key=lambda path: path.stat().st_mtime)
        for old in sets[:-MAX_SETS]:
            with contextlib.suppress(OSError):
                shutil.rmtree(old)


def fits(call: InlineCall) -> bool:
    """Whether the call's C++ source starts with torch's headers, under flags that leave their meaning alone."""
    words = [word for flag in call.extra_cflags for word in flag.split()]
    return not call.no_implicit_headers and all(SAFE_FLAG.fullmatch(word) for word in words)
