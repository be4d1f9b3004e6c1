"""What auto-apply stores beside its instances: rules, decisions, applications for lists and limits, logs, answers.

Functions that read take a connection, functions that write take the unit of their caller's transaction. What checks
and decides is in `queueing`, `review` and `steps`.
"""
