"""A kernel engineer by rule: a stand-in for a model, which knows C++ but acts only on what it is shown."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from clients.conversation import Call, Conversation, Exchange, stuck

TASK = re.compile(r"kernelbench:[\w./-]+")
NEXT_TOOL = re.compile(r"\b[Cc]all (?P<tool>\w+) (?:again|with)\b")
# The prompt of the server names the tools in the order of their use.
FIRST_TOOL = re.compile(rf"{NEXT_TOOL.pattern}|`(?P<named>\w+)` it\b")
FAULTY_LINE = re.compile(r"\bFix line (\d+) of the source")
CURE = re.compile(r"error: '(\w+)' [^\n]{1,60}; did you mean '(\w+)'\?")
# A result is shown as JSON, where a quote is escaped.
ARGUMENT = re.compile(r'\b(\w+)=\\?"(\w+)')
SPEEDUP = re.compile(r'"speedup":\s*\{"value":\s*([0-9.]+)')


@dataclass(frozen=True)
class Engineer:
    """Compiles its draft, repairs what the compiler's error cures, then follows the next steps of each result."""

    draft: str
    """The first source; it may hold a misspelt name."""
    read: Callable[[str], str] = str
    """What it gets to see of a result: the counter-tests blank it."""
    options: Mapping[str, int] = field(default_factory=dict)
    """Further arguments of its calls to the judge."""

    def __call__(self, conversation: Conversation) -> Call | str:
        if conversation.exchanges:
            return self._after(conversation.exchanges)
        task, first = TASK.search(conversation.prompt), FIRST_TOOL.search(conversation.prompt)
        if task is None or first is None:
            return stuck("the prompt names no task or no tool to begin with")
        arguments: dict[str, str | int] = {"task": task[0], "source": self.draft, "language": "cpp", **self.options}
        return Call(first["tool"] or first["named"], arguments)

    def _after(self, exchanges: Sequence[Exchange]) -> Call | str:
        shown = self.read(exchanges[-1].shown)
        speedup = SPEEDUP.search(shown)
        if speedup is not None:
            return f"Done: {speedup[1]} times as fast as the baseline."
        tool = NEXT_TOOL.search(shown)
        if tool is None:
            return stuck(f"the result of {exchanges[-1].call.tool} names no next call")
        if tool["tool"] == "job":
            return Call("job", dict(ARGUMENT.findall(shown, tool.end())))
        judged = next(entry.call.arguments for entry in reversed(exchanges) if entry.call.tool != "job")
        line = FAULTY_LINE.search(shown)
        if line is None:
            return Call(tool["tool"], judged)
        cure = CURE.search(shown)
        if cure is None:
            return stuck(f"nothing says what is wrong in line {line[1]}")
        source = _repaired(str(judged["source"]), int(line[1]), wrong=cure[1], right=cure[2])
        return Call(tool["tool"], {**judged, "source": source})


def _repaired(source: str, line: int, *, wrong: str, right: str) -> str:
    lines = source.split("\n")
    lines[line - 1] = re.sub(rf"\b{wrong}\b", right, lines[line - 1])
    return "\n".join(lines)
