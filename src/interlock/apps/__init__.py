"""The applications that ship with Interlock; each plugs in through its registry, as a user's own machines do."""
