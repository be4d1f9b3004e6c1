"""What the finder knows, in tables of its own: profiles, companies, sources with their crawls, and postings.

Every function takes the connection of a transaction, or its `Unit` where it writes. Rows belong to a workspace.
"""
