"""Interlock beside other systems: the same PostgreSQL, the same handler that does nothing, each in its own processes.

A contender is a module with

PACKAGE     the distribution it comes in, for its version
SETTINGS    how it is set up, in words: as its documentation recommends for throughput, durable as it is by default
FINISHED    SQL that counts what it has finished, as it records that itself
setup       makes its tables
enqueue     puts so many jobs there, before the clock starts
work        runs its worker for ever: calls `go` when it is ready to start, and `tick` in every handler

`child` is the process around one of them, `race` starts these processes and holds the clock: from the word to start
until the database says that all is finished.
"""
