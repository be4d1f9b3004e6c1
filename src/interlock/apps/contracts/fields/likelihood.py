"""How likely values with certain signals are right, learned from few examples: a pooled logistic regression.

The log odds of being right are a sum over the signals of a value. It is fitted in two steps: over all fields together,
then for each field by itself, held to the pooled result by a normal prior. A field with hundreds of known answers goes
its own way; one with five says what fields say in general. Bins would need hundreds of values each, and isotonic
regression follows every accident of a small sample; here a signal that was seen three times moves the odds by little.

It is monotone: a signal that speaks against a value has no weight above zero, one that speaks for it none below. The
curvature of the likelihood at its maximum (Laplace) gives every probability an interval.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log, pi, sqrt

from pydantic import BaseModel, ConfigDict

BASE = "any value"
_AGAINST = """
agreement=split agreement=weak agreement=model derivation=no valid=no source=ocr source=poor competing=some
    form=unusual grounding=nospace grounding=fuzzy model=different"""
AGAINST = frozenset(_AGAINST.split())
FOR = frozenset({"agreement=agree", "model=same"})
_USUAL = {
    "agreement": "single",
    "derivation": "yes",
    "valid": "yes",
    "source": "text",
    "competing": "none",
    "form": "usual",
    "grounding": "exact",
    "model": "none",
}
GUESSES = {
    BASE: (1.4, 1.0),
    "agreement=agree": (0.7, 0.7),
    "agreement=split": (-0.8, 0.6),
    "agreement=weak": (-0.9, 0.6),
    "agreement=model": (-1.6, 0.6),
    "derivation=no": (-0.6, 0.7),
    "valid=no": (-1.2, 0.7),
    "source=ocr": (-0.2, 0.4),
    "source=poor": (-0.8, 0.6),
    "competing=some": (-0.2, 0.5),
    "form=unusual": (-0.3, 0.5),
    "grounding=nospace": (-0.2, 0.4),
    "grounding=fuzzy": (-0.8, 0.6),
    "model=same": (0.5, 0.3),
    "model=different": (-1.2, 0.6),
}
"""What each signal is worth before anything was counted: the mean and the standard deviation of its weight."""
_OWN = (0.0, 0.6)
"""The same for what only the field's own rules say: which rule it was, and its marks."""
POOLING = 0.3
"""How far a field's weight of a signal may be from that of all fields: a standard deviation."""
POOLING_BASE = 0.9


def indicators(features: Mapping[str, str]) -> tuple[str, ...]:
    """The signals as names that are there or not; what is usual has none."""
    found = [f"{name}={value}" for name, value in features.items() if name in _USUAL and value != _USUAL[name]]
    found += [f"by {name}" for name in features.get("by", "").split(",") if name]
    found += [f"mark {name}" for name in features.get("marks", "").split("|") if name]
    return (BASE, *found)


@dataclass(frozen=True, slots=True)
class Example:
    """`n` values with the same signals, `right` of them right."""

    indicators: tuple[str, ...]
    n: float
    right: float


class Weights(BaseModel):
    """A fitted sum: a weight for each signal, and the covariance of the weights (its lower triangle, row by row)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    names: tuple[str, ...]
    means: tuple[float, ...]
    covariance: tuple[float, ...]
    n: float = 0.0
    """The values behind it."""

    def log_odds(self, present: Iterable[str]) -> tuple[float, float]:
        """The mean and the standard deviation of the log odds. A signal that was never seen adds doubt only."""
        places = []
        mean = unknown = 0.0
        known = {name: place for place, name in enumerate(self.names)}
        for name in present:
            place = known.get(name)
            if place is None:
                guess, spread = GUESSES.get(name, _OWN)
                mean += guess
                unknown += spread**2
            else:
                places.append(place)
                mean += self.means[place]
        variance = sum(self._covariance(a, b) for a in places for b in places)
        return mean, sqrt(max(variance, 0.0) + unknown)

    def _covariance(self, a: int, b: int) -> float:
        low, high = min(a, b), max(a, b)
        return self.covariance[high * (high + 1) // 2 + low]


def probability(mean: float, deviation: float) -> float:
    """The mean probability of normally distributed log odds: doubt moves it towards one half."""
    return _logistic(mean / sqrt(1 + pi * deviation**2 / 8))


def between(mean: float, deviation: float, width: float = 1.645) -> tuple[float, float]:
    """The interval of the probability; by default nine in ten."""
    return _logistic(mean - width * deviation), _logistic(mean + width * deviation)


def fit(fields: Mapping[str, Sequence[Example]]) -> tuple[Weights, dict[str, Weights]]:
    """The weights of all fields together, and those of each field."""
    shared: dict[tuple[str, ...], list[float]] = {}
    for examples in fields.values():
        for one in examples:
            key = tuple(name for name in one.indicators if name in GUESSES)
            counts = shared.setdefault(key, [0.0, 0.0])
            counts[0] += one.n
            counts[1] += one.right
    pooled = maximum([Example(key, n, right) for key, (n, right) in shared.items()], GUESSES)
    means = dict(zip(pooled.names, pooled.means, strict=True))
    priors = {name: (means.get(name, GUESSES[name][0]), POOLING) for name in GUESSES}
    priors[BASE] = (means.get(BASE, GUESSES[BASE][0]), POOLING_BASE)
    return pooled, {name: maximum(examples, priors) for name, examples in fields.items()}


def maximum(examples: Sequence[Example], priors: Mapping[str, tuple[float, float]]) -> Weights:
    """The likeliest weights under normal priors, by Newton's method, with the signs that signals may have."""
    names = sorted({name for one in examples for name in one.indicators} | set(priors))
    place = {name: number for number, name in enumerate(names)}
    prior = [priors.get(name, _OWN) for name in names]
    rows = [(tuple(place[name] for name in one.indicators), one.n, one.right) for one in examples]
    weights = [mean for mean, _ in prior]
    bound: set[int] = set()
    hessian: list[list[float]] = []
    for _ in range(40):
        gradient = [(mean - w) / spread**2 for w, (mean, spread) in zip(weights, prior, strict=True)]
        hessian = [[0.0] * len(names) for _ in names]
        for number, (_, spread) in enumerate(prior):
            hessian[number][number] = 1 / spread**2
        for present, n, right in rows:
            p = _logistic(sum(weights[number] for number in present))
            bend = n * p * (1 - p)
            for a in present:
                gradient[a] += right - n * p
                for b in present:
                    hessian[a][b] += bend
        free = [number for number in range(len(names)) if number not in bound]
        step = solve([[hessian[a][b] for b in free] for a in free], [gradient[a] for a in free])
        largest = 0.0
        for number, change in zip(free, step, strict=True):
            weights[number] += max(-2.0, min(2.0, change))
            largest = max(largest, abs(change))
        over = {number for number in free if _forbidden(names[number], weights[number])}
        for number in over:
            weights[number] = 0.0
        bound |= over
        if largest < 1e-6 and not over:
            break
    inverse = invert(hessian)
    triangle = [round(inverse[a][b], 5) for a in range(len(names)) for b in range(a + 1)]
    return Weights(
        names=tuple(names),
        means=tuple(round(w, 4) for w in weights),
        covariance=tuple(triangle),
        n=round(sum(one.n for one in examples), 2),
    )


def _forbidden(name: str, weight: float) -> bool:
    return (name in AGAINST and weight > 0) or (name in FOR and weight < 0)


def solve(matrix: list[list[float]], right: list[float]) -> list[float]:
    """The solution of a positive definite system, by Cholesky's decomposition."""
    lower = _cholesky(matrix)
    size = len(right)
    forward = [0.0] * size
    for i in range(size):
        forward[i] = (right[i] - sum(lower[i][k] * forward[k] for k in range(i))) / lower[i][i]
    back = [0.0] * size
    for i in reversed(range(size)):
        back[i] = (forward[i] - sum(lower[k][i] * back[k] for k in range(i + 1, size))) / lower[i][i]
    return back


def invert(matrix: list[list[float]]) -> list[list[float]]:
    """The inverse of a positive definite matrix."""
    size = len(matrix)
    columns = [solve(matrix, [float(i == j) for i in range(size)]) for j in range(size)]
    return [[columns[j][i] for j in range(size)] for i in range(size)]


def _cholesky(matrix: list[list[float]]) -> list[list[float]]:
    size = len(matrix)
    lower = [[0.0] * size for _ in range(size)]
    for i in range(size):
        for j in range(i + 1):
            rest = matrix[i][j] - sum(lower[i][k] * lower[j][k] for k in range(j))
            lower[i][j] = sqrt(rest) if i == j else rest / lower[j][j]
    return lower


def logit(p: float) -> float:
    p = min(max(p, 1e-4), 1 - 1e-4)
    return log(p / (1 - p))


def _logistic(x: float) -> float:
    return 1 / (1 + exp(-x)) if x > -700 else 0.0
