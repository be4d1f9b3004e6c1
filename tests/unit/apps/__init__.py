"""The applications, against their specifications."""
