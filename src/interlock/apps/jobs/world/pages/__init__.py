"""The web pages of the world: those of the companies, lists of openings, and a page with a form for each opening."""
