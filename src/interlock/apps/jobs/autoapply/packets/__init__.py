"""The packet of an application: the form with its answers, the documents and their check, stored as artifacts."""
