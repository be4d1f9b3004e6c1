"""Ingest: take files in, read stored documents back, and render pages for people."""
