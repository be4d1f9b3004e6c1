"""Workers: loops that claim work and run handlers. Each loop has its own file and thread.

claimer       writes results and claims new work, in one transaction per round
heartbeat     renews the worker's lease; without it the worker stops writing before others may take over
sweeper       fires due timers and takes back the work of lost workers
watcher       cancels handlers that lost their claim or ran out of time
deliverer     delivers the messages of the outbox through their channels: mail, webhook or custom
scheduler     starts instances by their schedules
bulker        runs bulk actions in batches
roller        adds up the history for pages and alerts
alerter       evaluates the alert rules
keeper        removes expired data and creates future partitions
checkpointer  signs the history

A handler cannot stop these loops: plain functions run in threads, `async def` on a separate event loop, and handlers
with a memory limit in processes. A handler that never returns is fenced off and abandoned.
"""

from interlock.worker.awaiting import AsyncTask
from interlock.worker.port import Cancelled
from interlock.worker.task import Task
from interlock.worker.worker import Worker

__all__ = ["AsyncTask", "Cancelled", "Task", "Worker"]
