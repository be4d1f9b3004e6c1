"""Receipts that are checked by rules, approved by a person where it matters, and paid once."""
