"""Profiles: a seeker's profile, its file, and what filter and match make of it."""
