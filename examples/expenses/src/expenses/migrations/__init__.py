"""The revisions of this application's tables, in the order of their file names."""
