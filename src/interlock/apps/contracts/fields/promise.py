"""The probability that all required fields of a document are right.

The fields' errors are not independent: an opening that is read badly has wrong parties and a wrong date. So the
product of the fields' probabilities is only the start; how it relates to what came true is learned from whole
documents. What is stated is not the middle of what is thought, but a value that three of four times is too low, so
that few examples or wide intervals lower the promise.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, sqrt

from pydantic import BaseModel, ConfigDict

from interlock.apps.contracts.fields.likelihood import invert, logit, solve

CAUTION = 0.674
"""Standard deviations below the mean: the lower quartile."""
_PRIORS = ((0.0, 0.6), (1.0, 0.3))


class Likely(BaseModel):
    """A field's log odds of being right, with their standard deviation."""

    model_config = ConfigDict(frozen=True)

    mean: float
    deviation: float


class Score(BaseModel):
    """A document that is known: what its fields' probabilities came to without it, and whether all were right."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    together: float
    right: bool
    fold: int | None = None


class Promise(BaseModel):
    """The line from the product of the fields' probabilities (as log odds) to that of the document."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    shift: float = 0.0
    slope: float = 1.0
    covariance: tuple[float, float, float] = (0.0, 0.0, 0.0)
    documents: int = 0

    def of(self, fields: Sequence[Likely]) -> tuple[float, float, float]:
        """The promised probability, and its 90 % interval."""
        x, doubt = together(fields)
        mean = self.shift + self.slope * x
        a, ab, b = self.covariance
        deviation = sqrt(max(a + 2 * ab * x + b * x * x, 0.0) + (self.slope * doubt) ** 2)
        return (
            _logistic(mean - CAUTION * deviation),
            _logistic(mean - 1.645 * deviation),
            _logistic(mean + 1.645 * deviation),
        )


def together(fields: Sequence[Likely]) -> tuple[float, float]:
    """The log odds that all are right if each is by itself, and how uncertain they are."""
    chances = [_logistic(one.mean) for one in fields]
    product = 1.0
    for chance in chances:
        product *= chance
    variance = sum(
        ((1 - chance) / max(1 - product, 1e-6) * one.deviation) ** 2
        for chance, one in zip(chances, fields, strict=True)
    )
    return logit(product), sqrt(variance)


def learn(scores: Sequence[Score]) -> Promise:
    """The line through documents that are known, held to "independent" by a normal prior."""
    if not scores:
        return Promise()
    line = [mean for mean, _ in _PRIORS]
    hessian = [[1.0, 0.0], [0.0, 1.0]]
    for _ in range(30):
        gradient = [(mean - value) / spread**2 for value, (mean, spread) in zip(line, _PRIORS, strict=True)]
        hessian = [[1 / _PRIORS[0][1] ** 2, 0.0], [0.0, 1 / _PRIORS[1][1] ** 2]]
        for one in scores:
            p = _logistic(line[0] + line[1] * one.together)
            bend = p * (1 - p)
            gradient[0] += one.right - p
            gradient[1] += (one.right - p) * one.together
            hessian[0][0] += bend
            hessian[0][1] += bend * one.together
            hessian[1][1] += bend * one.together**2
        hessian[1][0] = hessian[0][1]
        step = solve(hessian, gradient)
        line = [line[0] + max(-1.0, min(1.0, step[0])), max(line[1] + max(-1.0, min(1.0, step[1])), 0.0)]
        if max(map(abs, step)) < 1e-7:
            break
    inverse = invert(hessian)
    return Promise(
        shift=round(line[0], 4),
        slope=round(line[1], 4),
        covariance=(round(inverse[0][0], 5), round(inverse[0][1], 5), round(inverse[1][1], 5)),
        documents=len(scores),
    )


def _logistic(x: float) -> float:
    return 1 / (1 + exp(-x)) if x > -700 else 0.0
