"""Sandboxes of this host: a git worktree on a branch of its own, with tools that cannot leave it.

```python
pool = LocalSandboxes(data / "sandboxes", settings.sandbox)      # local.py
repository = Repository(data / "repositories", "owner/name", config)  # repository.py; config has url, push, merge
slot = pool.slot(item)            # None: the item is no local one, its MCP server is all there is
pool.prepare(slot, repository, session=…, branch=…, target=…)
AgentRun(…, mcp_json=item["mcp_json_string"], workspace=slot.folder)
pool.commit(slot, message, session=…)   # before the sandbox goes back
pool.reset(slot)                        # when it is back
repository.diff(branch, target), .patch(…), .push(branch), .merge(branch, target, message)
```

The tools (`tools.py`) are behind an MCP server (`server.py`), which the agent starts. File tools walk paths without
following links (`files.py`). The shell runs in namespaces (`confine.py`), where only the sandbox exists; where the host
cannot do that, there is no shell (`confinement.py` says why). Git of the service never reads a configuration or runs a
program from the tree (`git.py`).
"""
