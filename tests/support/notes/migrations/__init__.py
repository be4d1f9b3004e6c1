"""Revisions of the tables of notes."""
