"""Workers: loops that claim and run handlers, one loop a file, each in a thread of its own.

claimer    writes down results and claims new work, in one transaction a round
heartbeat  says that the process lives; past its word it stops writing, before others may take over
sweeper    does what is due by itself, and takes back what lost workers held
watcher    tells handlers that they were cancelled, or are out of time
deliverer  gives the messages in the outbox to their channels: mail, webhook, or one's own
scheduler  starts what the calendar says
bulker     does bulk actions, batch by batch

Whatever a handler does, it cannot stop these loops: plain functions run in threads, `async def` on an event loop of
its own, and handlers with a memory limit in processes. One that never returns is fenced off and given up.
"""

from interlock.worker.awaiting import AsyncTask
from interlock.worker.task import Cancelled, Task
from interlock.worker.worker import Worker

__all__ = ["AsyncTask", "Cancelled", "Task", "Worker"]
