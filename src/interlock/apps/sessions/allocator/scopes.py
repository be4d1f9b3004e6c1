"""What a token needs to use the allocator over HTTP."""

from interlock.machine import Scope

SANDBOXES = Scope("sandboxes", "borrow sandboxes from the allocator and return them")
SANDBOXES_ADMIN = Scope(
    "sandboxes_admin", "add sandboxes to the allocator, remove them, and release them without their borrower", "owner"
)
