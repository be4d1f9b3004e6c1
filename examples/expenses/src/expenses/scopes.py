"""What tokens of other programs may do with receipts. People have it by their role."""

from __future__ import annotations

from interlock import Scope

SUBMIT = Scope("expenses_submit", "submit receipts", role="member")
READ = Scope("expenses_read", "read receipts and what was paid", role="viewer")
