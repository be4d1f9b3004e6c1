"""Postings: an opening as its source describes it, and what rules read out of it."""
