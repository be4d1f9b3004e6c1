"""The AI layer."""
