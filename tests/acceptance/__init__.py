"""Whole processes, killed: nothing is lost, nothing is doubled, and everything comes back by itself."""
