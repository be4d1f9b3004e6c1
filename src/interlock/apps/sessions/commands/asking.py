"""`interlock session start`, `prompt` and `cancel`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from interlock.apps.sessions.commands.sessions import (
    Files,
    SessionId,
    Text,
    Watch,
    new_prompt,
    say_if_nobody_works,
    session_in,
)
from interlock.console.options import DEFAULT_DATABASE, App, Config, Database, id_of, opened
from interlock.console.printing import As, Json, as_json, login

if TYPE_CHECKING:
    from interlock.engine.application import Unit

Workspace = Annotated[str, typer.Option("--workspace", help="The workspace of the session.")]


def start(
    text: Text,
    repo: Annotated[
        str, typer.Option("--repo", help="A name of [sessions.repos].", show_default="the only one there is")
    ] = "",
    target_branch: Annotated[str, typer.Option("--target-branch", help="The branch that it begins from.")] = "main",
    agent: Annotated[
        str, typer.Option("--agent", help="demo, claude, or one of [sessions.agents].", show_default="sessions.agent")
    ] = "",
    title: Annotated[str, typer.Option("--title", help="Its title.", show_default="from the prompt")] = "",
    files: Files = None,
    watch: Watch = False,
    workspace: Workspace = "default",
    user: As = "",
    in_json: Json = False,
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
    config: Config = None,
) -> None:
    """Start a session with its first prompt."""
    from interlock.apps.sessions import control
    from interlock.apps.sessions.commands.watching import follow
    from interlock.machine import USER, Actor

    prompt, name = new_prompt(text, files), user or login()
    wanted = control.NewSession(repo, target_branch, title, agent)
    with opened(database, apps, config) as engine:
        made, asked = engine.write(
            lambda unit: control.start_with_prompt(unit, workspace, Actor(USER, name), name, wanted, prompt),
            name="create",
        )
        data = {"session": str(made.id), "prompt": str(asked), "branch": made.data["branch"]}
        if in_json:
            as_json(data)
        else:
            typer.echo(f"session {made.id}")
            typer.echo(f"branch  {made.data['branch']}")
        say_if_nobody_works(engine)
        if watch:
            raise typer.Exit(follow(engine, made.id, plain=in_json))


def prompt(
    session_id: SessionId,
    text: Text,
    files: Files = None,
    watch: Watch = False,
    user: As = "",
    in_json: Json = False,
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
    config: Config = None,
) -> None:
    """Send a further prompt. It waits while the agent is busy."""
    from interlock.apps.sessions import control
    from interlock.apps.sessions.commands.watching import follow
    from interlock.apps.sessions.conversation import prompts
    from interlock.machine import USER, Actor

    asked, name = new_prompt(text, files), user or login()
    with opened(database, apps, config) as engine:
        named = id_of(engine, "instance", session_id)

        def add(unit: Unit) -> tuple[object, bool]:
            session_in(unit.conn, named)
            busy = prompts.following(unit.conn, named) is not None
            return control.add_prompt(unit, unit.lock(named), Actor(USER, name), name, asked), busy

        made, busy = engine.write(add, name="fire")
        if in_json:
            as_json({"session": str(named), "prompt": str(made), "waits": busy})
        else:
            typer.echo(f"prompt {made}: {'it waits until the agent is free' if busy else 'the agent gets it now'}")
        say_if_nobody_works(engine)
        if watch:
            raise typer.Exit(follow(engine, named, plain=in_json))


def cancel(
    session_id: SessionId,
    number: Annotated[
        int, typer.Option("--prompt", min=0, help="Only the prompt with this number.", show_default="all")
    ] = 0,
    user: As = "",
    in_json: Json = False,
    database: Database = DEFAULT_DATABASE,
    apps: App = None,
    config: Config = None,
) -> None:
    """End the agent and cancel waiting prompts."""
    from interlock.apps.sessions import control
    from interlock.apps.sessions.conversation import prompts
    from interlock.engine import NotFound

    name = user or login()
    with opened(database, apps, config) as engine:
        named = id_of(engine, "instance", session_id)

        def stop(unit: Unit) -> control.Cancelled:
            session_in(unit.conn, named)
            instance = unit.lock(named)
            if not number:
                return control.cancel(unit, instance, name)
            found = prompts.of_session(unit.conn, named, after=number - 1, limit=1)
            if not found or found[0].number != number:
                raise NotFound(f"session {named} has no prompt {number}")
            return control.cancel_prompt(unit, instance, found[0].id, name)

        done = engine.write(stop, name="fire")
    if in_json:
        as_json({"session": str(named), "waiting": done.waiting, "running": done.running})
    else:
        typer.echo(done.sentence)
