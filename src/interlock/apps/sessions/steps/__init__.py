"""What is done for a session in each state.

`handlers.py` has the one handler of `pending` and `in_progress`: it takes the next prompt, holds a sandbox, moves to
`in_progress` and keeps its lease until the agent has ended. `work.py` runs the agent in the sandbox, `recovery.py`
decides what a prompt came to whose worker was lost, and `followers.py` keeps prompts in step with the state, in the
transaction of each move.

The points at which a worker may die, and what the next one does:

1. Before the session is in progress: it begins again. A loan that was started is found again.
2. In progress, before `agent_at` is written: the prompt is active and was not started, so it is run.
3. After `agent_at`, before the agent was launched: the files of the run prove it, so the prompt is run.
4. While the agent runs: its supervisor ends it. The lines that nobody stored are read from the files of the run, and a
   result line among them decides. Without one the outcome is `unknown`, and a person reviews the branch.
5. After the agent ended, before its work is committed or its outcome stored: both are done from those files.
6. After the outcome is stored, before the session has moved on: it moves on with that outcome.
"""
