"""`interlock demo-world`: the world as a program of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from interlock.apps.jobs.world import World


def demo_world(
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="The port; 0 takes a free one.")] = 8430,
    host: Annotated[
        str, typer.Option("--host", help="The address to listen on. Everybody who reaches it can change the world.")
    ] = "127.0.0.1",
) -> None:
    """Serve six made-up companies, for trying the job finder offline: careers pages, job boards, application forms."""
    from interlock.apps.jobs.world import World

    World(port, host=host, ready=_tell).run()


def _tell(world: World) -> None:
    typer.echo(f"the demo world is on {world.url}; Ctrl+C ends it")
    for company in world.described()["companies"]:
        typer.echo(f"  {company['website']}  {company['name']}")
    typer.echo(f"what is to be found: {world.url}/_world, applications: {world.url}/_received")
    typer.echo(f"switches for faults: {world.url}/_faults")
    typer.echo(f'the finder fetches it with: [jobs] private_hosts = ["{world.host}"]')
