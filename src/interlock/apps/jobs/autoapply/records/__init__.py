"""What auto-apply stores beside its instances: rules, decisions, applications for lists and limits, logs, answers.

Functions that read take a connection, functions that write take the unit of their caller's transaction. The verbs of
auto-apply, which check and decide, are in the modules above this package.
"""
