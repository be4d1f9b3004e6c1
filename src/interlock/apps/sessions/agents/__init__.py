"""Runs agents: one prompt, one process, every line once, and one outcome that says how it ended.

`run(agent_run, on_line=…, approve=…, cancelled=…)` starts the agent under a supervisor, a small process of its own.
The supervisor appends what the agent prints to a file in `AgentRun.folder`. The runner reads the lines from that file:
their numbers are the same whoever reads them, so that a line is stored once, also after a crash.

- The supervisor watches a pipe to the worker. When the worker dies it ends the agent's process group in steps
  (interrupt, SIGTERM, SIGKILL), and every process that left the group as well. When the supervisor dies, the kernel
  kills the agent.
- `recover(agent_run, after_seq=…, on_line=…)` gives the rest of the lines of a run whose worker died, and its outcome;
  None if the prompt was not started on this host. `forget(folder)` removes the files once the outcome is stored.
- The outcome comes from the result line, the exit code, the state of the MCP servers, denied calls and the watchdog
  (`outcome.py`). Without a result line it is never `done`.
- A tool call that needs a person is put to `approve`. Nothing that the agent prints can answer it.
"""
