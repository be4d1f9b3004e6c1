"""The HTTP service: one API for every machine, for people and for agents.

Each request is handled like this: the body is bounded, the caller is authenticated (a token, or a session cookie with
its CSRF value), and the endpoint runs one function of the engine in one transaction. Permissions are checked inside
that transaction, on the row in question; objects of other workspaces are reported as not found. With an
`Idempotency-Key` the answer is stored in the same transaction, so that repeating the request changes nothing, whatever
crashed in between. Every refusal is a problem document (RFC 9457) that says what to do.
"""

from interlock.machine import extras

extras.require("service", "fastapi", "uvicorn")
