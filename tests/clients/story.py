"""The story that every client plays, and how it must have ended."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from clients.conversation import Call, Conversation, Mind
from kernelguild.memory.schema import Evaluation, MeasuredTiming, Status, Tier

PROMPT = "Make the kernel of kernelbench:problem.py faster, in C++. Call compile with your first draft."

BLANKED: dict[str, Callable[[str], str]] = {
    "everything": lambda shown: "",
    "the compiler's cure": lambda shown: re.sub(r"did you mean [^?]*\?", "", shown),
    "the next steps": lambda shown: re.sub(r'"next_steps":\s*\[[^\]]*\]', "", shown),
}
"""What the model may be kept from seeing, as a function of a result's text."""


@dataclass(frozen=True)
class Reader:
    """A model that makes one call and repeats what it was shown."""

    call: Call

    def __call__(self, conversation: Conversation) -> Call | str:
        return conversation.exchanges[-1].shown if conversation.exchanges else self.call


@dataclass
class Recorder:
    """A mind whose last conversation can be looked at."""

    mind: Mind
    conversation: Conversation = field(default_factory=lambda: Conversation("", (), {}))

    def __call__(self, conversation: Conversation) -> Call | str:
        self.conversation = conversation
        return self.mind(conversation)


def assert_the_kernel_was_proven(verdicts: Sequence[Evaluation]) -> None:
    """A compile error, then the repaired source through all three tiers, timed."""
    assert [(verdict.tier, verdict.status) for verdict in verdicts] == [
        (Tier.COMPILE, Status.COMPILE_ERROR),
        (Tier.COMPILE, Status.PASSED),
        (Tier.VERIFY, Status.PASSED),
        (Tier.PROFILE, Status.PASSED),
    ]
    assert len({verdict.candidate_id for verdict in verdicts}) == 2
    assert isinstance(verdicts[-1].timing, MeasuredTiming)


def assert_it_stayed_at_the_error(verdicts: Sequence[Evaluation]) -> None:
    """The draft was compiled once, and nothing after it."""
    assert [(verdict.tier, verdict.status) for verdict in verdicts] == [(Tier.COMPILE, Status.COMPILE_ERROR)]
