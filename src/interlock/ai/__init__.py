"""Models for applications: typed tasks, providers, prices, a record of every call, stored answers, budgets.

A task (`ModelTask`) has a name, a prompt, a type for its answer, a tier and rules. A handler asks with `ask`. The
configuration (`[ai]`) chooses the model; without a provider nothing is called and the rules answer.

The steps of one question:

begin    in one transaction: return an answer that is stored under the same hash; refuse if the budget is spent;
         otherwise record the intent as an effect, which counts as sent from then on
ask      one request with a time limit, without hidden retries. If the answer does not fit the type, the model is asked
         once more, with what was wrong
ended    in one transaction: the row of the call, the answer by its hash, the end of the effect

A crash before `ended` loses the answer. Repeating a model call is harmless and only costs money, so the next attempt
records the lost call and asks again. After `ended` nothing is paid again: the answer is found by its hash.

Outside text is passed as data, between marks that it cannot forge, and the answer must fit the type.
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
    TotalBudgetSpent,
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
    "TotalBudgetSpent",
    "ask",
    "configure",
    "configured",
    "prompt_file",
    "samples",
]
