"""The audit trail: proof that the history is whole and unchanged, under retention and erasure too.

Four layers, each of which covers what the one below cannot show:

* `chain`: each history row has a hash over itself and the row before it. A row that was changed, put in or taken out
  breaks its instance's chain. The payload enters by its digest, so it can be erased and the chain still verifies.
* `proof` and `vouching`: rows beside an instance (reviews, dead letters, effects, messages, artifacts) are digested
  into the last history row that is written with them.
* `purges`: rows may be removed only under a numbered, hash-chained `purge` row, which the triggers ask for. It is
  sealed with the audit key of `signing`, which never lies in the database.
* `checkpoints`, written by `checkpointing`: a signed summary of all chains at a moment. A copy outside the database
  shows when a whole instance is gone, a chain was computed anew, or the database was rolled back.

`replaying` reads the past of an instance and its state at any moment. `verifying` walks every chain and compares its
replay with the tables; `anchored` verifies the database against its checkpoints, and these against copies that were
kept elsewhere.
"""
