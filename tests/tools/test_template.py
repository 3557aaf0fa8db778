"""Templates: the small language, the conditional parameters, and the example that the demo searches."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Mapping
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelguild.memory.errors import InputError
from kernelguild.memory.schema import Language, Parameter, StrategyParameters, Task, Template
from kernelguild.tools.tasks import load_task
from kernelguild.tools.template import (
    Value,
    canonicalise,
    count_assignments,
    random_assignment,
    render,
    strategies_in_use,
)

SOFTMAX = Path(__file__).parents[2] / "examples" / "softmax_cpp"


def template(source: str) -> Template:
    """Two free strategies and one that needs the first: width 3 x 1, (unroll, hint) 2 x 2, tail 2."""
    return Template(
        language=Language.CPP,
        path="small.cpp",
        source=source,
        strategies=(
            StrategyParameters(
                strategy="vectorized_load",
                prior=2,
                parameters=(Parameter(name="width", values=(1, 4, 8), default=1),),
            ),
            StrategyParameters(
                strategy="small_unroll",
                prior=1,
                parameters=(
                    Parameter(name="unroll", values=(1, 2), default=1),
                    Parameter(name="hint", values=("off", "on"), default="off"),
                ),
            ),
            StrategyParameters(
                strategy="tail_isolation",
                prior=1,
                requires=("vectorized_load",),
                parameters=(Parameter(name="tail", values=("scalar", "masked"), default="scalar"),),
            ),
        ),
    )


SMALL = template("{{ width }} {{ unroll }} {{ hint }} {{ tail }}")
ALL_ASSIGNMENTS: list[dict[str, Value]] = [
    dict(zip(("width", "unroll", "hint", "tail"), values, strict=True))
    for values in product((1, 4, 8), (1, 2), ("off", "on"), ("scalar", "masked"))
]


def test_branches_loops_and_integer_arithmetic_render() -> None:
    source = (
        "{% for lane in range(width // 4 + 1) %}\nv{{ lane * 4 }};\n{% endfor %}\n"
        "{{ 'a' if width > 1 and hint == 'on' else 'b' }}"
    )
    assert render(template(source), {"width": 4, "hint": "on"}).source == "v0;\nv4;\na"
    assert render(template(source), {}).source == "v0;\nb"


def test_a_parameter_without_its_requirement_sits_at_its_default() -> None:
    assert render(SMALL, {"tail": "masked"}).source == "1 1 off scalar"
    assert render(SMALL, {"tail": "masked", "width": 8}).source == "8 1 off masked"


@given(st.sampled_from(ALL_ASSIGNMENTS))
def test_the_canonical_assignment_renders_the_same_program_and_names_nothing_superfluous(
    assignment: Mapping[str, Value],
) -> None:
    canonical = canonicalise(SMALL, assignment)
    assert render(SMALL, canonical) == render(SMALL, assignment)
    assert canonicalise(SMALL, canonical) == canonical
    for name in canonical:
        without = {other: value for other, value in canonical.items() if other != name}
        assert render(SMALL, without) != render(SMALL, canonical)


def test_the_count_of_assignments_is_the_number_of_programs() -> None:
    # width default: 1 * 4 (unroll, hint); width 4 or 8: 2 * 4 * 2 (tail opens); 4 + 16 = 20.
    assert count_assignments(SMALL) == 20
    assert len({render(SMALL, assignment).id for assignment in ALL_ASSIGNMENTS}) == 20


def test_random_assignments_reach_every_program() -> None:
    rng = random.Random(1)
    assert len({render(SMALL, random_assignment(SMALL, rng)).id for _ in range(500)}) == 20


def test_a_strategy_is_in_use_where_one_of_its_parameters_left_its_default() -> None:
    assert strategies_in_use(SMALL, {"hint": "on", "width": 4}) == {"small_unroll", "vectorized_load"}
    assert strategies_in_use(SMALL, {}) == set()


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ({"widht": 4}, r"small.cpp: unknown parameter 'widht' \(known: width, unroll, hint, tail\)"),
        ({"width": 3}, r"small.cpp: width = 3 is not among its values \(1, 4, 8\)"),
    ],
)
def test_an_assignment_that_does_not_fit_is_refused_by_name(assignment: dict[str, Value], message: str) -> None:
    with pytest.raises(InputError, match=message):
        render(SMALL, assignment)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            "a\n{{ width.bit_length() }}",
            r"small.cpp:2: call is not allowed in a template \(allowed: if, for over range",
        ),
        ("{{ hint.__class__ }}", "small.cpp:1: getattr is not allowed"),
        ("{{ hint|upper }}", "small.cpp:1: filter is not allowed"),
        ("{% include 'secret' %}", "small.cpp:1: include is not allowed"),
        ("{% macro loop() %}{{ loop() }}{% endmacro %}", "small.cpp:1: macro is not allowed"),
        ("{% for letter in hint %}{% endfor %}", "small.cpp:1: for is not allowed"),
        ("{{ range }}", "small.cpp:1: name is not allowed"),
        ("x\n{% if width %}", "small.cpp:2: Unexpected end of template"),
        ("{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}", "small.cpp: nested too deeply"),
        ("{{ widht }}", r"small.cpp: 'widht' is undefined \(parameters: hint, tail, unroll, width\)"),
        ("{{ hint * 1000000000 }}", "small.cpp: 'off' . 1000000000: arithmetic is for integers"),
        ("{{ 7 // (width - 1) }}", "small.cpp: integer division or modulo by zero"),
    ],
)
def test_what_lies_outside_the_language_is_refused_by_line_or_value(source: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        render(template(source), {})


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("{% for i in range(1000) %}{% for j in range(1000) %}{% endfor %}{% endfor %}", "more than 100000 loop steps"),
        ("{% for i in range(90000) %}0123456789abcdef{% endfor %}", "renders more than 1000000 characters"),
        ("{% set a = 1048576 %}{% set b = a * a * a * a * a %}{{ b }}", r"is beyond 2\*\*62"),
    ],
)
def test_a_template_cannot_run_long_or_grow_large(source: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        render(template(source), {})


@pytest.fixture(scope="module")
def softmax() -> Task:
    return load_task(SOFTMAX)


def template_in(task: Task) -> Template:
    assert task.template is not None
    return task.template


def test_the_softmax_template_renders_its_seed_from_the_defaults(softmax: Task) -> None:
    assert render(template_in(softmax), {}) == softmax.seed


def test_the_softmax_template_has_at_least_ten_thousand_programs(softmax: Task) -> None:
    rng = random.Random(2)
    drawn = [random_assignment(template_in(softmax), rng) for _ in range(11_000)]
    assert len({render(template_in(softmax), assignment).id for assignment in drawn}) >= 10_000


def test_random_programs_of_the_softmax_template_compile(softmax: Task, tmp_path: Path) -> None:
    rng = random.Random(3)
    for number in range(24):
        candidate = render(template_in(softmax), random_assignment(template_in(softmax), rng))
        (tmp_path / f"{number}.cpp").write_text(candidate.source, encoding="utf-8")
    # -Wno-psabi: a vector argument wider than the host's registers is slow, not wrong.
    flags = ["-std=c++20", "-march=native", "-fsyntax-only", "-Wall", "-Wextra", "-Wno-psabi"]
    command = ["g++", *flags, *map(str, sorted(tmp_path.glob("*.cpp")))]
    environment = {"PATH": os.environ["PATH"]}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
