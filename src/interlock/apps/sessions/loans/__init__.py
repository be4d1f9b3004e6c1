"""Loans: one sandbox, borrowed once for one session and given back once.

`borrowing` waits in line for a sandbox and borrows it under the loan's own key; `returning` starts the return and
follows its operation to the end. A loan that cannot be given back in five attempts is `stuck`, with a dead letter that
a person retries, resolves, discards or releases by force. What the allocator answered is in `sandbox_loan`, because
item and token are secrets; neither the instance nor its effects contain them.
"""
