"""Times every regular expression of the package on hostile texts of growing length.

Prints those that grow too fast, and then which it looked at.

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

SHORT = 4_000
LONG = (10_000, 100_000, 1_000_000)
SUSPICIOUS = 0.003
"""Seconds for the short text."""
TOO_FAST = 9.0
"""Four times the text in more than nine times the time; a square takes sixteen times."""
WORDS = (" ", "\n", "a", "A ", "0", "a.", "0,", "(", '"', "-", "A. ", "a, ", "_")
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
    few = own[:: max(1, len(own) // 5)][:5]
    pieces = [*WORDS, *few, *(f"{a} " for a in few[:3]), *(a + b for a, b in pairwise(few)), " ".join(few)]
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
    """With which text the expression takes more than its share; empty if there is none."""
    work, slowest = worker(one), (0.0, "a")
    for piece in texts(one.pattern):
        text = repeated(piece, SHORT)
        seen = took(work, text)
        # A square takes 24 ms and more for so short a text, most take a tenth of a millisecond.
        if seen > SUSPICIOUS:
            ratio = shortest(work, text) / max(shortest(work, repeated(piece, SHORT // 4)), 1e-5)
            if ratio > TOO_FAST:
                return f"{piece!a} times {SHORT:,}: {ratio:.0f} times as long for four times the text"
        slowest = max(slowest, (seen, piece))
    if ".apps." in one.place:
        return ""  # documents are read in processes of their own, page by page
    # Whoever writes to the service chooses the length: a million characters take as long as a million should.
    texts_ = [repeated(slowest[1], n) for n in LONG]
    for short, long in pairwise(texts_):
        most = 4 * len(long) / len(short)
        if took(work, long) / max(took(work, short), 1e-4) < most:
            continue  # a busy machine makes it longer, never shorter
        ratio = shortest(work, long) / max(shortest(work, short), 1e-4)
        if ratio > most:
            return f"{slowest[1]!a} times {len(long):,}: {ratio:.0f} times as long for ten times the text"
    return ""


def repeated(piece: str, size: int) -> str:
    """So many characters, and at the end what no expression expects: one that almost fits begins again and again."""
    return piece * (size // len(piece)) + "\x01\x02"


def shortest(work: Callable[[str], object], text: str) -> float:
    return min(took(work, text) for _ in range(3))


if __name__ == "__main__":
    every = patterns()
    for one in every:
        if growth := grows(one):
            print(f"{one.place}: {growth}\n    {one.pattern.pattern[:300]!a}", flush=True)
    print("looked at", *(one.place for one in every), flush=True)
