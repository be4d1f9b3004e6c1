"""Versions of a machine: moving running instances from one version to another, planned first, in batches, and back."""
