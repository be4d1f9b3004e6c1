"""Benchmarks: Interlock against raw SQL that does the same writes, in the same run, on the same server."""
