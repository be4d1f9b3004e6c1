"""Review: what a reviewer's decision does, signed links, evidence places, and the blind sample."""
