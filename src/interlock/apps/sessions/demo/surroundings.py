"""What the demo's sessions need: a small repository, and a service that looks after returned sandboxes."""

from __future__ import annotations

import atexit
import shutil
import tempfile
import threading
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import sqlalchemy as sa

from interlock.apps.sessions.allocator import pool
from interlock.apps.sessions.host_folders import NoHostFolders, host_folders
from interlock.apps.sessions.repositories.config import RepoConfig
from interlock.apps.sessions.sandbox.git import git
from interlock.apps.sessions.settings import Subscriber, Subscribers, settings_in
from interlock.engine import Engine
from interlock.store import private

REPOS = ("harbour/shop", "harbour/ledger", "north/website", "north/parcel-api")
PUSHED, MERGED = {"harbour/shop", "harbour/ledger"}, {"harbour/shop"}
ATTIC = "harbour/attic"
"""Its sandboxes are in a rack that takes none back."""
FILES = {
    "README.md": "# Shop\n\nA small shop that sells tea. `python -m shop` prints what an order costs.\n",
    "CHANGELOG.md": "# Changes\n\n- Prices have a currency\n- First version\n",
    "shop/__init__.py": "",
    "shop/__main__.py": "from shop.orders import Order\n\nprint(Order([('Assam', 2, 450)]).total())\n",
    "shop/orders.py": (
        '"""Orders and what they cost, in cents."""\n\n\nclass Order:\n    def __init__(self, lines):\n'
        "        self.lines = lines\n\n    def total(self):\n"
        "        return sum(count * price for _, count, price in self.lines)\n"
    ),
    "shop/flags.py": "# Nobody reads these any more.\nNEW_CHECKOUT = True\nBETA_SEARCH = False\n",
}
REFUSALS = 5
"""Attempts to return one sandbox that fail: all of a loan, so that it goes to the dead letters."""
AFTER = 2
"""Returns that succeed before."""


def configure(engine: Engine) -> None:
    """Name the demo's repositories in the configuration of this process; people may push to some and merge into one."""
    settings = settings_in(engine.setting("sessions"))
    if ATTIC in settings.repos:
        return
    try:
        place = str(host_folders(engine.setting).root / "demo")
    except NoHostFolders:
        return
    demo = {name: RepoConfig(url=place, push=name in PUSHED, merge=name in MERGED) for name in (*REPOS, ATTIC)}
    engine.core.settings["sessions"] = settings.model_copy(update={"repos": {**settings.repos, **demo}})


def set_up(engine: Engine) -> None:
    """Make the repository, and configure it for sessions with the service that is notified of returns."""
    try:
        host_folders(engine.setting)
    except NoHostFolders:
        root = Path(tempfile.mkdtemp(prefix="interlock-demo-"))
        atexit.register(shutil.rmtree, root, ignore_errors=True)
        settings = settings_in(engine.setting("sessions"))
        engine.core.settings["sessions"] = settings.model_copy(update={"folder": root})
    _make_repository(host_folders(engine.setting).root / "demo")
    configure(engine)
    settings = settings_in(engine.setting("sessions"))
    if settings.allocator.url is None and not settings.allocator.give_back.subscribers:
        # A sandbox that could not be given back is out of use: a second one at each start would empty the pool.
        refusals = 0 if engine.read(_has_stuck_sandbox) else REFUSALS
        cleaner = Subscriber(post=cleaning_service(refusals), must_succeed=True, timeout=5)
        cleaned = {"give_back": Subscribers(subscribers={"cleaning": cleaner})}
        update = {"allocator": settings.allocator.model_copy(update=cleaned)}
        engine.core.settings["sessions"] = settings.model_copy(update=update)


def _has_stuck_sandbox(conn: sa.Connection) -> bool:
    return bool(pool.items(conn, states=(pool.QUARANTINED,)))


def _make_repository(place: Path) -> None:
    """A bare repository with one commit on `main`; the one of an earlier start stays."""
    if (place / "HEAD").exists():
        return
    private.folder(place)
    with tempfile.TemporaryDirectory(dir=place.parent) as folder:
        tree = Path(folder)
        for name, text in FILES.items():
            path = tree / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        git("init", "--quiet", "--bare", place)
        where = (f"--git-dir={place}", f"--work-tree={tree}")
        git(*where, "add", ".", cwd=tree)
        git(*where, "commit", "--quiet", "--message=A small shop", cwd=tree)


class _Cleaning:
    """Says yes to a return, except to five in a row once: a sandbox whose rack does not answer."""

    def __init__(self, refusals: int) -> None:
        self._lock = threading.Lock()
        self._seen = 0
        self._refused: bytes | None = None
        self._left = refusals

    def accepts(self, body: bytes) -> bool:
        with self._lock:
            self._seen += 1
            if self._refused is None and self._seen > AFTER:
                self._refused = body
            if body != self._refused or not self._left:
                return True
            self._left -= 1
            return False


@cache
def cleaning_service(refusals: int = REFUSALS) -> str:
    """The address of the service, which runs as long as this process."""
    cleaning = _Cleaning(refusals)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(min(int(self.headers.get("Content-Length") or 0), 1_000_000))
            self.send_response(200 if cleaning.accepts(body) else 503)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, name="interlock-demo-cleaning", daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}/returned"
