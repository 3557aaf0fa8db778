"""Templates: from an assignment of parameters to a program, and the moves between assignments.

An assignment names the parameters that differ from their defaults. A strategy is in use where one of its parameters
does; the parameters of a strategy whose requirements are not in use sit at their defaults.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from itertools import combinations

from ..memory.errors import InputError
from ..memory.schema import Candidate, Parameter, Template
from .candidates import candidate_from_source
from .template_language import render_source

Value = int | str
Assignment = Mapping[str, Value]


def render(template: Template, assignment: Assignment) -> Candidate:
    """The program of an assignment.

    Raises:
        InputError: an unknown parameter or value, or the template cannot be rendered.
    """
    canonical = canonicalise(template, assignment)
    values = {parameter.name: canonical.get(parameter.name, parameter.default) for parameter in template.parameters}
    source = render_source(template.source, template.path, values)
    return candidate_from_source(source, template.language, name=template.path)


def canonicalise(template: Template, assignment: Assignment) -> dict[str, Value]:
    """The assignment without what has no effect: defaults, and parameters whose strategy is closed.

    Raises:
        InputError: an unknown parameter or value.
    """
    _check(template, assignment)
    kept: dict[str, Value] = {}
    used: set[str] = set()
    for entry in template.strategies:
        if not used.issuperset(entry.requires):
            continue
        changed = {
            parameter.name: assignment[parameter.name]
            for parameter in entry.parameters
            if assignment.get(parameter.name, parameter.default) != parameter.default
        }
        if changed:
            used.add(entry.strategy)
            kept |= changed
    return kept


def strategies_in_use(template: Template, assignment: Assignment) -> set[str]:
    """The strategies of which the (canonical) assignment changes a parameter."""
    return {
        entry.strategy
        for entry in template.strategies
        if any(parameter.name in assignment for parameter in entry.parameters)
    }


def random_assignment(template: Template, rng: random.Random) -> dict[str, Value]:
    """Each parameter drawn uniformly from its values."""
    return canonicalise(template, {parameter.name: rng.choice(parameter.values) for parameter in template.parameters})


def count_assignments(template: Template) -> int:
    """How many canonical assignments there are: over all sets of strategies that may be in use together, the product
    of the ways to leave each one's defaults."""
    ways = {entry.strategy: math.prod(len(p.values) for p in entry.parameters) - 1 for entry in template.strategies}
    needs = {entry.strategy: set(entry.requires) for entry in template.strategies}
    return sum(
        math.prod(ways[strategy] for strategy in used)
        for size in range(len(ways) + 1)
        for used in combinations(ways, size)
        if all(needs[strategy] <= set(used) for strategy in used)
    )


def _check(template: Template, assignment: Assignment) -> None:
    known = {parameter.name: parameter for parameter in template.parameters}
    for name, value in assignment.items():
        parameter: Parameter | None = known.get(name)
        if parameter is None:
            raise InputError(f"{template.path}: unknown parameter {name!r} (known: {', '.join(known)})")
        if value not in parameter.values:
            allowed = ", ".join(map(str, parameter.values))
            raise InputError(f"{template.path}: {name} = {value!r} is not among its values ({allowed})")
