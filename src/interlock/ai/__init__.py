"""Models for applications: typed tasks, providers, prices, a record of every call, kept answers, budgets.

A task (`ModelTask`) has a name, a prompt, a type for its answer, a tier and rules. A handler asks with `ask`; which
model answers is the installation's business (`[ai]`), and where none is configured the rules do. Nothing is called
unless a provider is configured.

One question goes so:

begin    in one transaction: an answer kept under the same hash is given back; a budget that is spent refuses; else
         the intent is stored as an effect, which counts as sent from then on
ask      one request, bounded in time, without hidden retries. An answer that does not fit the type is reported to the
         model once, with what was wrong
ended    in one transaction: the row of the call, the answer by its hash, the end of the effect

A crash before `ended` loses the answer: a model call is harmless to repeat and only costs, so the next attempt writes
the lost call down and asks again. A crash after it pays nothing again, because the answer is found by its hash.

Whatever comes from outside goes in as data, between marks that it cannot know, and comes out through the type.
"""

from interlock.ai.asking import Answer, Outside, ask, configure, configured, samples
from interlock.ai.errors import (
    BudgetSpent,
    InputTooBig,
    ModelError,
    ModelMalformed,
    ModelQuota,
    ModelRefused,
    ModelTimeout,
    ModelUnavailable,
    NoModel,
    PriceUnknown,
)
from interlock.ai.task import ModelTask, Tier, prompt_file

__all__ = [
    "Answer",
    "BudgetSpent",
    "InputTooBig",
    "ModelError",
    "ModelMalformed",
    "ModelQuota",
    "ModelRefused",
    "ModelTask",
    "ModelTimeout",
    "ModelUnavailable",
    "NoModel",
    "Outside",
    "PriceUnknown",
    "Tier",
    "ask",
    "configure",
    "configured",
    "prompt_file",
    "samples",
]
