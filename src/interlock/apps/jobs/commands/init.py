"""`interlock jobs init`: a profile to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def init(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The profile to write.")] = Path("profile.yaml"),
    sample: Annotated[bool, typer.Option("--sample", help="Write the sample profile, to be changed by hand.")] = False,
) -> None:
    """Write a profile for the job finder. A file that is there is not overwritten."""
    from interlock.machine import InterlockError
    from interlock.machine.extras import require

    require("jobs", "yaml")
    from interlock.apps.jobs.finder.profile_file import sample as sample_text
    from interlock.store import private

    if not sample:
        raise InterlockError("give --sample: it writes the sample profile, which you then change by hand")
    try:
        private.create_text(file, sample_text())
    except FileExistsError:
        raise InterlockError(f"{file} is there already; name another file, or move it away") from None
    except OSError as error:
        raise InterlockError(f"{file} cannot be written: {error.strerror}") from None
    typer.echo(
        f"wrote {file}; change it to your own, then try it: interlock jobs score --profile {file} --postings FILE"
    )
