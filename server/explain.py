"""What a caller is told about an error: the cure where there is one, and never that our fault is the kernel's."""

from __future__ import annotations

import logging
import secrets

from ..memory.errors import InputError, KernelguildError, UnavailableError

logger = logging.getLogger(__name__)


class ExplainedError(KernelguildError):
    """Its text is for the caller as it is: `explain` wrote it when the original error was caught."""


def explain(error: Exception) -> str:
    """The text for a user or a model. What broke by itself is logged under an incident id that the text names."""
    if isinstance(error, InputError | ExplainedError):
        return str(error)
    if isinstance(error, UnavailableError):
        return f"unavailable: {error}"
    incident = secrets.token_hex(4)
    logger.error("incident %s", incident, exc_info=error)
    # A text that nobody wrote for a caller may hold what a caller must not see: it stays in the log.
    cause = f": {error}" if isinstance(error, KernelguildError) else f" ({type(error).__name__})"
    return (
        f"kernelguild itself failed, not the kernel{cause}. Nothing was recorded about the source; "
        f"call again, and if it stays, look for incident {incident} in the server's stderr."
    )
