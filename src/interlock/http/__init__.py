"""The HTTP service: one API for every machine, for people and for agents.

A request is answered like this: the body is bounded, the caller is found (a token, or a login cookie with its CSRF
token), and the endpoint runs one function of the engine in one transaction. Whether the caller may do it is decided
inside that transaction, on the row it is about; what belongs to another workspace is answered as if it were not
there. With an `Idempotency-Key` the answer is stored in the same transaction, so the same request again changes
nothing, whatever crashed in between. Every refusal is a problem document (RFC 9457) that says what would help.
"""

from interlock.machine import extras

extras.require("service", "fastapi", "uvicorn")
