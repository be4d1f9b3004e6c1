"""Times every regular expression of the package on hostile texts of growing length; prints those that grow too fast.

Run as a program, so that one that never ends can be ended: `python -m tests.attack.regexes`.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

import interlock

SIZES = (1_000, 4_000, 16_000, 64_000)
LONG = 1_000_000
TOO_FAST = 9.0
"""Four times the text in more than nine times the time; a square takes sixteen times."""
MEASURABLE = 0.004
"""Seconds; below, a clock's grain and the garbage collector say more than the expression."""
WORDS = (
    " ", "\n", "a", "A", "0", "a ", "A ", "a.", "0.", "0,", "\t \n", "(", '"', "'", "-", "/", "the ", "a,", "a-", "_",
    "A. ", "\\", "[", "<", "@", ":", "://", "%",
)  # fmt: skip
METHODS = {"search", "sub", "subn", "split", "findall", "finditer", "match", "fullmatch"}
ANCHORED = {"match", "fullmatch"}


class Found(NamedTuple):
    """An expression, where it stands, and whether it is only ever tried at one place of a text."""

    place: str
    pattern: re.Pattern[str]
    anchored: bool


def modules() -> Iterator[Any]:
    for info in pkgutil.walk_packages(interlock.__path__, "interlock."):
        if ".migrations" not in info.name and not info.name.endswith("__main__"):
            yield importlib.import_module(info.name)


def patterns() -> list[Found]:
    """Those in the names of modules and classes, and those that are written where they are used."""
    every = list(modules())
    trees = {module.__name__: ast.parse(inspect.getsource(module)) for module in every}
    used: dict[str, set[str]] = {}
    for tree in trees.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr in METHODS:
                name = node.value.id if isinstance(node.value, ast.Name) else getattr(node.value, "attr", "")
                used.setdefault(name, set()).add(node.attr)
    found: dict[tuple[str, int], Found] = {}

    def add(place: str, pattern: re.Pattern[Any], anchored: bool) -> None:
        if isinstance(pattern.pattern, bytes):
            pattern = re.compile(pattern.pattern.decode("latin-1"), pattern.flags | re.ASCII)
        key = pattern.pattern, pattern.flags
        before = found.get(key)
        found[key] = Found(place, pattern, anchored and (before is None or before.anchored))

    for module in every:
        for name, value in vars(module).items():
            for pattern in _inside(value):
                methods = used.get(name, set())
                add(f"{module.__name__}.{name}", pattern, bool(methods) and methods <= ANCHORED)
        for node in ast.walk(trees[module.__name__]):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and isinstance(node.func.value, ast.Name)
                and node.func.value.id == "re"
                and node.func.attr in METHODS | {"compile"}
            ):
                place = f"{module.__name__}:{node.lineno}"
                for pattern in _written(node, vars(module)):
                    if node.func.attr != "compile":
                        add(place, pattern, node.func.attr in ANCHORED)
    return sorted(found.values(), key=lambda one: one.place)


def _inside(value: Any, depth: int = 3) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, type) and value.__module__.startswith("interlock") and depth > 1:
        for one in vars(value).values():
            yield from _inside(one, depth - 2)
    elif isinstance(value, dict) and depth > 0:
        for one in value.values():
            yield from _inside(one, depth - 1)
    elif isinstance(value, list | tuple | set | frozenset) and depth > 0:
        for one in value:
            yield from _inside(one, depth - 1)


def _written(node: ast.Call, names: dict[str, Any]) -> Iterator[re.Pattern[Any]]:
    """The expression of a call, if it is made of what the module knows and not of what the function does."""
    flags: Any = 0
    for part in [*node.args[1:], *(keyword.value for keyword in node.keywords if keyword.arg == "flags")]:
        said = ast.unparse(part)
        if said.startswith("re."):
            flags = eval(said, {"re": re})
    try:
        yield re.compile(eval(ast.unparse(node.args[0]), dict(names)), flags)
    except (NameError, TypeError, re.error):
        return


def letters(pattern: re.Pattern[str]) -> list[str]:
    """Pieces of text that the expression reads: each literal run, and one of each kind of character."""
    runs: list[str] = []

    def walk(tree: Iterable[Any]) -> None:
        run = ""
        for kind, value in tree:
            if kind is _constants.LITERAL:
                run += chr(value)
                continue
            if run:
                runs.append(run)
            run = ""
            if kind is _constants.IN:
                runs.extend(chr(v) for k, v in value if k is _constants.LITERAL)
                runs.extend(chr(v[0]) for k, v in value if k is _constants.RANGE)
            elif kind in {_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT}:
                walk(value[2])
            elif kind is _constants.SUBPATTERN:
                walk(value[3])
            elif kind is _constants.BRANCH:
                for branch in value[1]:
                    walk(branch)
            elif kind in {_constants.ASSERT, _constants.ASSERT_NOT}:
                walk(value[1])
            elif kind is _constants.ATOMIC_GROUP:
                walk(value)
        if run:
            runs.append(run)

    walk(_parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG))
    return list(dict.fromkeys(runs))


def texts(pattern: re.Pattern[str]) -> list[str]:
    """What is repeated: usual hostile pieces, and pieces of the expression itself, alone and together."""
    own = letters(pattern)
    few = own[:: max(1, len(own) // 8)][:8]
    pieces = [*WORDS, *few, *(f"{a} " for a in few), *(a + b for a, b in pairwise(few)), "".join(few), " ".join(few)]
    return [one for one in dict.fromkeys(pieces) if one]


def took(work: Callable[[str], object], text: str) -> float:
    begun = time.process_time()
    work(text)
    return time.process_time() - begun


def worker(one: Found) -> Callable[[str], object]:
    if one.anchored:
        return one.pattern.match

    def work(text: str) -> None:
        for _ in one.pattern.finditer(text):
            pass

    return work


def grows(one: Found) -> str:
    """What the text is with which the expression takes more than its share; empty if there is none."""
    work, slowest = worker(one), (0.0, "a")
    for piece in texts(one.pattern):
        # A piece at the start, and then only a part of it: what almost fits is what takes long.
        last = 0.0
        for size in SIZES:
            text = piece * (size // len(piece))
            now = took(work, text)
            if now > MEASURABLE and last > MEASURABLE / 16 and now / last > TOO_FAST:
                again = min(took(work, text) for _ in range(3)) / max(
                    min(took(work, text[: size // 4]) for _ in range(3)), 1e-6
                )
                if again > TOO_FAST:
                    return f"{piece!a} times {size:,}: {again:.0f} times as long for four times the text"
            last = now
        slowest = max(slowest, (last, piece))
    short, long = (slowest[1] * (n // len(slowest[1])) for n in (SIZES[-1], LONG))
    ratio = min(took(work, long) for _ in range(2)) / max(min(took(work, short) for _ in range(3)), 1e-5)
    if ratio > 4 * LONG / SIZES[-1]:
        return f"{slowest[1]!a} times {LONG:,}: {ratio:.0f} times as long for {LONG // SIZES[-1]} times the text"
    return ""


if __name__ == "__main__":
    every = patterns()
    for one in every:
        if told := grows(one):
            print(f"{one.place}: {told}\n    {one.pattern.pattern[:300]!a}", flush=True)
    print(f"{len(every)} expressions", flush=True)
