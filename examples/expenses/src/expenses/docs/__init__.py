"""The documentation of this application, as Markdown files."""
