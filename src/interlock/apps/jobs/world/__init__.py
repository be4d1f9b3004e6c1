"""The demo world: six made-up companies over real HTTP, for the demo, for tests, and for trying the finder offline.

Data (`data`), the shapes in which systems, feeds and pages show it (`systems`, `feeds`, `pages`, `custom_api`), and the
server with its faults and what it received (`server`, `faults`, `received`) are apart:

    with World(clock=clock) as world:
        world.url, world.described(), world.faults.add("429", "/lever-host/", times=2), world.received.list()
"""

from interlock.machine.extras import require

require("jobs", "uvicorn", "starlette", "multipart")

from interlock.apps.jobs.world.server import World

__all__ = ["World"]
