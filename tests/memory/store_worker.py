"""Another process on the same home, driven through its standard input and output."""

from __future__ import annotations

import sys
from pathlib import Path

import anyio

from kernelguild.memory.errors import ConflictError
from kernelguild.memory.schema import RoundAborted
from kernelguild.memory.store import Store, open_store
from memory_records import SEARCH_ID, candidate


def say(word: object) -> None:
    print(word, flush=True)


async def open_when_told(home: Path) -> None:
    say("ready")
    sys.stdin.readline()
    async with open_store(home):
        say("opened")


async def append_for_ever(store: Store) -> None:
    sequence = 0
    while True:
        sequence += 1
        await store.events.append(SEARCH_ID, RoundAborted(edge=1, reason="x" * 5000), sequence=sequence, at_s=1.0)
        say(sequence)


async def append_some(store: Store, count: int, writer: int) -> None:
    """Append `count` events to the log that others append to as well, and put a candidate with each."""
    say("ready")
    sys.stdin.readline()
    for number in range(count):
        await store.candidates.put(candidate(1000 * writer + number))
        body = RoundAborted(edge=1 + number, reason=f"writer {writer}")
        while True:
            events = await store.events.read(SEARCH_ID)
            try:
                await store.events.append(SEARCH_ID, body, sequence=len(events) + 1, at_s=1.0)
                break
            except ConflictError:
                continue
    say("done")


async def own_a_job(store: Store) -> None:
    job = await store.jobs.create("profile", "a long one", at_s=1.0)
    say(job.id)
    sys.stdin.readline()


async def main(action: str, home: Path, *numbers: int) -> None:
    if action == "open":
        await open_when_told(home)
        return
    async with open_store(home) as store:
        if action == "append":
            await append_for_ever(store)
        elif action == "append-some":
            await append_some(store, *numbers)
        elif action == "own-a-job":
            await own_a_job(store)
        else:
            raise SystemExit(f"unknown action {action}")


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], Path(sys.argv[2]), *map(int, sys.argv[3:]))
