"""The dashboard: server-rendered pages under /ui that update themselves.

Every page is a URL that works without JavaScript. With it, a page learns over server-sent events that something it
shows has changed, requests itself again with its reader's permissions, and applies the difference. A lost event does
no harm. Forms post to the page's own address and are answered with a redirect. They carry the session's CSRF value,
the `seq` that the reader saw, and an idempotency key, so that sending a form twice acts once.
"""

from interlock.machine import extras

extras.require("service", "fastapi", "jinja2")
