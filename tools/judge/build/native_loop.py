"""The loop in which a library's worker answers the judge, in machine code.

A library can take over its worker and answer the judge by itself. Around a loop in Python, whose code is cold at each
call, that saved ten microseconds a call: more than many a kernel takes. Around this one it saves nothing.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path

from ....memory.errors import HarnessError, UnavailableError
from ..bench import Bench
from ..failure import clean
from ..languages import CXX
from ..worker import wait_or_timeout
from .built import is_made

TIMEOUT_S = 60
SOURCE = """\
#include <cerrno>
#include <cstdint>
#include <unistd.h>

typedef int (*Entry)(%(types)s);

// Answers every 'g' with a 'd' after a call, and returns the first other word (0: the judge closed its end). An entry
// that returns other than 0 ends it: -1, with what it returned in `status`.
extern "C" int serve(int command, int reply, Entry entry, const uint64_t* argument, int* status) {
    for (;;) {
        unsigned char word = 0;
        ssize_t size = read(command, &word, 1);
        if (size < 0 && errno == EINTR) continue;
        if (size != 1) return 0;
        if (word != 'g') return word;
        if (entry && (*status = entry(%(values)s))) return -1;
        while (write(reply, "d", 1) < 0 && errno == EINTR) {}
    }
}
"""


@dataclass(frozen=True)
class NativeLoops:
    """The loops of one judge, by the number of the entry's arguments: pointers and int64 alike, in their order."""

    bench: Bench
    _made: dict[int, Path] = field(default_factory=dict)

    def loop(self, arguments: int) -> Path:
        """The library for entries of so many arguments.

        Raises:
            UnavailableError: this host lacks the compiler.
            HarnessError: it could not be compiled.
        """
        if arguments not in self._made:
            self._made[arguments] = self._compiled(arguments)
        return self._made[arguments]

    def _compiled(self, arguments: int) -> Path:
        scratch, product = self.bench.new_scratch(), self.bench.new_folder() / "loop.so"
        types = ", ".join("uint64_t" for _ in range(arguments))
        values = ", ".join(f"argument[{position}]" for position in range(arguments))
        (scratch / "loop.cpp").write_text(SOURCE % {"types": types, "values": values}, encoding="ascii")
        command = (compiler(), "-O2", "-fPIC", "-shared", "loop.cpp", "-o", product.name)
        with self.bench.execute(command, scratch, TIMEOUT_S, product) as worker:
            ended = wait_or_timeout(worker, TIMEOUT_S)
            log = clean(worker.output_tail())
        if not is_made(product, ended):
            raise HarnessError(f"the loop of C++ workers does not compile: {log.strip() or 'it took too long'}")
        return product


def compiler() -> str:
    """The C++ compiler's path.

    Raises:
        UnavailableError: there is none.
    """
    path = shutil.which(CXX)
    if path is None:
        raise UnavailableError(f"cpp: {CXX} is not on PATH; install it (Debian: apt install g++)")
    return path
