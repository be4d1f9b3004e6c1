"""`python -m interlock.apps.sessions.sandbox FOLDER` serves the tools of a local sandbox to one agent."""

import sys
from pathlib import Path

if __name__ == "__main__":
    try:
        from interlock.apps.sessions.sandbox.server import serve
    except ModuleNotFoundError as missing:
        raise SystemExit(f"{missing}; this needs the extra sessions: pip install 'interlock[sessions]'") from None
    serve(Path(sys.argv[1]))
