"""`interlock jobs init`: a profile from a resume, from questions, or the sample."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interlock.console.printing import short, table

if TYPE_CHECKING:
    from interlock.apps.jobs.finder.resume import Draft


def init(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The profile to write.")] = Path("profile.yaml"),
    resume: Annotated[
        Path | None,
        typer.Option("--resume", help="A resume, PDF or DOCX: what it says is the default of each question."),
    ] = None,
    sample: Annotated[bool, typer.Option("--sample", help="Write the sample profile, to be changed by hand.")] = False,
    no_input: Annotated[
        bool, typer.Option("--no-input", help="Ask nothing: write what the resume says, to be changed by hand.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite a file that is there.")] = False,
) -> None:
    """Write a profile for the job finder. An existing file is overwritten only with --force."""
    from interlock.machine import InterlockError
    from interlock.machine.extras import require

    require("jobs", "yaml")
    from interlock.apps.jobs.finder.profiles.profile_file import sample as sample_text

    if sample and (resume is not None or no_input):
        raise InterlockError("--sample stands alone; leave out --resume and --no-input")
    if file.exists() and not force:
        raise InterlockError(f"{file} is there already; name another file, move it away, or give --force")
    if sample:
        _write(file, sample_text(), force)
    else:
        _write(file, _asked(resume, no_input), force)
    typer.echo(
        f"wrote {file}; change it to your own, then try it: interlock jobs score --profile {file} --postings FILE"
    )


def _asked(resume: Path | None, no_input: bool) -> str:
    """The profile of a resume and of answers, as YAML."""
    from interlock.apps.jobs.commands.questions import ask_all, without_nameless
    from interlock.apps.jobs.finder.profiles.profile_file import check_profile
    from interlock.apps.jobs.finder.profiles.profile_writer import written
    from interlock.machine import InterlockError

    if not no_input and not sys.stdin.isatty():
        if resume is None:
            raise InterlockError(
                "there is no terminal to ask on; give --resume FILE to write what a resume says, "
                "or --sample to write the sample profile, and change the file by hand"
            )
        typer.echo("there is no terminal to ask on: what the resume says is written as it is")
        no_input = True
    if no_input and resume is None:
        raise InterlockError("--no-input needs --resume FILE; without a resume, --sample writes a profile to change")
    profile: dict[str, Any] = {}
    origins: dict[str, str] = {}
    if resume is not None:
        from interlock.apps.jobs.finder.resume import read_resume

        draft = read_resume(resume, datetime.now(UTC).date())
        profile = draft.profile
        for one in reversed(draft.read):
            origins[one.key.partition(".")[0]] = f"{resume.name}, page {one.page}"
        _show(draft)
    if not no_input:
        typer.echo("Press Enter to keep what stands in brackets; write - to leave it out. Lists are divided by commas.")
        answered = ask_all(profile, _prompt)
        origins = {key: where for key, where in origins.items() if answered.get(key) == profile.get(key)}
        profile = answered
    profile = without_nameless(profile)
    check_profile(profile)
    return written(profile, origins)


def _prompt(text: str, default: str) -> str:
    answer: str = typer.prompt(text, default=default, show_default=bool(default))
    return answer


def _show(draft: Draft) -> None:
    """What was read from where, what is missing and what was left out."""
    if draft.read:
        table(
            ("key", "value", "page", "line"),
            [(one.key, short(one.value, 60), str(one.page), short(one.line, 60)) for one in draft.read],
        )
    for text in draft.left_out:
        typer.echo(f"not used: {short(text, 150)}")
    if draft.missing:
        typer.echo(f"not found: {', '.join(draft.missing)}")


def _write(file: Path, text: str, force: bool) -> None:
    from interlock.machine import InterlockError
    from interlock.store import private

    try:
        if force:
            with private.write_text(file) as opened:
                opened.write(text)
        else:
            private.create_text(file, text)
    except FileExistsError:
        raise InterlockError(f"{file} is there already; name another file, move it away, or give --force") from None
    except OSError as error:
        raise InterlockError(f"{file} cannot be written: {error.strerror}") from None
