"""Revisions of the tables of contracts."""
