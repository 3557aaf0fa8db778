"""The one exception tree.

KernelguildError
├── InputError            the caller can fix it: shown to the user or the model as it is (exit code 2)
│   ├── ConfigError       a YAML or JSON file is wrong: names file, line, key and what is allowed
│   ├── ExpressionError   an expression does not parse or does not resolve
│   ├── NotFoundError     an id, a name or a path that does not exist
│   └── ConflictError     somebody else holds it, or it has already ended
├── UnavailableError      this host cannot do it: says why and how to get it (exit code 3)
└── HarnessError          our own machinery broke: never shown as the kernel's fault (exit code 3)
    └── StoreError        the database or a blob cannot be read or written
"""

from __future__ import annotations


class KernelguildError(Exception):
    """Base of every error that this package raises on purpose."""


class InputError(KernelguildError):
    """What the caller gave is wrong; the message names the value, the place and the cure."""


class ConfigError(InputError):
    """A configuration file is wrong; the message starts with `file:line: key`."""


class ExpressionError(InputError):
    """An expression does not parse, or a symbol in it does not resolve."""


class NotFoundError(InputError):
    """Something that was named does not exist."""


class ConflictError(InputError):
    """The thing is held by somebody else, has ended, or moved on."""


class UnavailableError(KernelguildError):
    """This host cannot do what was asked; the message says why and how to get it."""


class HarnessError(KernelguildError):
    """The judge or the coordinator failed by itself; no statement about the candidate follows."""


class StoreError(HarnessError):
    """The store cannot be read or written (a newer schema, a damaged blob, a full disk)."""
