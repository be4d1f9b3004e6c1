"""The allocator: pools of sandboxes, lent to one borrower at a time.

An item is `free`, `borrowed`, `in_return` or `quarantined`, and always exactly one of them. Each change of an item
changes the counts of its pool in the same transaction, and the database refuses counts that do not add up. So an item
is never in no set, and never in two.

A borrow has an idempotency key, which the caller chooses, and a token, which the allocator chooses. The key finds the
borrow again when the answer was lost: the same key gets the same item. The token returns it, once; a second return of
the same token gets the same answer.

Subscribers are services that the configuration names. They are called between two transactions: the item has left the
free ones before, and goes to its borrower, or back, after. An operation is what is done meanwhile; its row says how far
it is, so that another process continues it after a crash. A subscriber may therefore be called twice for one operation,
which has the same id then.

A borrow whose time is over is not lent to somebody else, because its borrower may still use it: the item goes into
quarantine until it is returned or somebody releases it.
"""
