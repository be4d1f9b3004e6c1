"""The stages of the finder, over real HTTP."""
