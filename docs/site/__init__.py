"""The documentation as a site, from the same files: `make docs`."""
