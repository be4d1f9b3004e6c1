"""Everything of a seeker's auto-apply out, in, or away: export, import of past applications, and deletion."""
