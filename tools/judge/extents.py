"""Extents that a candidate could not have been written for, and smaller ones in place of large ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import torch

from ...memory.schema import SymbolDomain

HIDDEN_LIMIT = 257
SMALL_LIMITS = (67, 31, 11, 3, 1)


def draw_extent(domain: SymbolDomain, generator: torch.Generator, limit: int = HIDDEN_LIMIT) -> int:
    """A multiple within the domain, odd multiples preferred: tails are where kernels break."""
    low = round_up(domain.min, domain.multiple_of) // domain.multiple_of
    high = max(low, min(domain.max, max(limit, domain.min)) // domain.multiple_of)
    value = int(torch.randint(low, high + 1, (1,), generator=generator))
    if value % 2 == 0 and value > low:
        value -= 1
    return value * domain.multiple_of


def smaller_symbols(
    symbols: Mapping[str, int], domains: Mapping[str, SymbolDomain], generator: torch.Generator
) -> Iterator[dict[str, int]]:
    """The free symbols as they are, then with one of them made smaller and smaller, then with all of them."""
    given = {name: symbols[name] for name in domains}
    yield given
    for limit in SMALL_LIMITS:
        for name, domain in domains.items():
            yield {**given, name: min(given[name], draw_extent(domain, generator, limit))}
    for limit in SMALL_LIMITS:
        yield {name: min(given[name], draw_extent(domain, generator, limit)) for name, domain in domains.items()}


def round_up(value: int, multiple: int) -> int:
    """The least multiple that is not below the value."""
    return -(-value // multiple) * multiple
