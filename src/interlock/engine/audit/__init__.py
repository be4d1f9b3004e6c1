"""The audit trail: proof that the history is complete and unchanged, also with retention and erasure.

Four layers, each of which shows what the one below cannot:

* `chain`: each history row has a hash over itself and the row before it. A row that was changed, inserted or removed
  breaks its instance's chain. The payload is hashed by its digest, so it can be erased and the chain still verifies.
* `row_digests` and `vouching`: digests of an instance's rows in other tables (reviews, dead letters, effects, messages,
  artifacts) go into the last history row that is written with them.
* `purges`: rows may be removed only under a numbered, hash-chained `purge` row, which the triggers require. It is
  sealed with the audit key of `signing`, which is never stored in the database.
* `checkpoints`, written by `checkpointing`: a signed summary of all chains. A copy outside the database shows if
  a whole instance is missing, a chain was recomputed, or the database was rolled back.

`replaying` reads the past of an instance and its state at any time. `verifying` walks every chain and compares its
replay with the tables. `checkpoint_verification` verifies the database against its checkpoints, and these against
copies that are stored elsewhere.
"""
