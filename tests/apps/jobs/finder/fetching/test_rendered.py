"""A page is rendered by a real browser that reaches nothing by itself."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from interlock.apps.jobs.finder.fetching import Forbidden, NoBrowser, TimedOut
from interlock.apps.jobs.finder.fetching.rendered import NAMES, Renderer
from interlock.apps.jobs.finder.sources.answer import Request
from interlock.apps.jobs.settings import JobsSettings

from .conftest import Made
from .site import Net, Site, answer

PAGE = {"Accept": "text/html"}
HERE = "http://jobs.example.com"
needs_chromium = pytest.mark.skipif(not any(map(shutil.which, NAMES)), reason="no Chromium here")
NO_SANDBOX = JobsSettings(browser_sandbox=False)
HTML = """<!doctype html><img src="/picture.png"><ul id="list"></ul><p id="inside"></p>
<iframe src="http://169.254.169.254/"></iframe>
<script src="/app.js"></script>"""
SCRIPT = """
const add = (where, text) => { document.getElementById(where).append(Object.assign(document.createElement('li'),
  {textContent: text})) }
fetch('/api/jobs', {method: 'POST', headers: {'Content-Type': 'application/json'}, body: '{"page": 1}'})
  .then(answer => answer.json()).then(jobs => jobs.forEach(job => add('list', job)))
for (const url of ['http://169.254.169.254/latest', 'http://127.0.0.1:PORT/secret', 'http://inside.example.com/'])
  fetch(url, {mode: 'no-cors'}).then(() => add('inside', 'reached ' + url), () => {})
new WebSocket('ws://127.0.0.1:PORT/socket').onopen = () => add('inside', 'reached a socket')
window.open('/popup')
"""


@needs_chromium
@pytest.mark.slow
async def test_scripts_run_and_every_request_is_the_clients(client: Made, site: Site, net: Net) -> None:
    net.names["inside.example.com"] = [["10.0.0.1"]]
    site.routes["/"] = answer(status=302, location="/careers/")
    site.routes["/careers/"] = answer(HTML, content_type="text/html")
    site.routes["/app.js"] = answer(SCRIPT.replace("PORT", str(site.port)), content_type="text/javascript")
    site.routes["/api/jobs"] = answer('["Cook", "Baker <b>"]', content_type="application/json")
    found = await Renderer(client(), NO_SANDBOX).fetch(Request(HERE, headers=PAGE))
    assert (found.status, found.url) == (200, HERE + "/careers/")
    assert b"<li>Cook</li><li>Baker &lt;b&gt;</li>" in found.body
    assert b"reached" not in found.body
    assert set(site.paths()) <= {"/robots.txt", "/", "/careers/", "/app.js", "/api/jobs", "/popup"}
    assert [one.body for one in site.asked if one.path == "/api/jobs"] == [b'{"page":1}']
    assert {one.headers["user-agent"].partition("/")[0] for one in site.asked} == {"Interlock"}
    assert {one.headers["host"] for one in site.asked} == {"jobs.example.com"}


@needs_chromium
@pytest.mark.soak
async def test_a_script_that_never_ends_is_stopped(client: Made, site: Site) -> None:
    site.routes["/"] = answer("<script>for (;;) {}</script>", content_type="text/html")
    settings = JobsSettings(browser_sandbox=False, timeout=3.0)
    with pytest.raises(TimedOut, match="not rendered"):
        await Renderer(client(), settings).fetch(Request(HERE, headers=PAGE))


async def test_what_is_no_page_needs_no_browser(client: Made, site: Site) -> None:
    site.routes["/feed"] = answer("{}", content_type="application/json")
    renderer = Renderer(client(), JobsSettings(browser=Path("/nowhere")))
    assert (await renderer.fetch(Request(HERE + "/feed"))).body == b"{}"
    assert (await renderer.fetch(Request(HERE + "/gone"))).status == 404
    with pytest.raises(Forbidden):
        await renderer.fetch(Request("http://127.0.0.1/", headers=PAGE))


async def test_a_missing_chromium_is_one_line(client: Made, site: Site) -> None:
    site.routes["/"] = answer("<p>x", content_type="text/html")
    with pytest.raises(NoBrowser, match=r"^/nowhere is not a program; correct \[jobs\] browser$"):
        await Renderer(client(), JobsSettings(browser=Path("/nowhere"))).fetch(Request(HERE, headers=PAGE))
