"""Ingest: create workflows from files, read stored documents back, and render pages."""
