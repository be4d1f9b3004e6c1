"""The frame of every page."""

from __future__ import annotations

import json
from html import escape
from typing import Any

STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem;color:#222}"
    "nav a{margin-right:1rem}label{display:block;margin-top:.8rem}input,textarea,select{width:100%;font:inherit}"
    "input[type=checkbox]{width:auto}footer{margin-top:3rem;color:#666;font-size:.85rem}"
)


def page(title: str, body: str, head: str = "", nav: str = "") -> str:
    """A whole document. `body`, `head` and `nav` are HTML."""
    top = f"<header><nav>{nav}</nav></header>\n" if nav else ""
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{escape(title)}</title>\n'
        f'<meta name="viewport" content="width=device-width">\n<style>{STYLE}</style>\n{head}</head>\n<body>\n{top}'
        f"<main>\n{body}\n</main>\n<footer>A made-up company of the demo world.</footer>\n</body>\n</html>\n"
    )


def linked(url: str, text: str, **attributes: str) -> str:
    more = "".join(f' {name}="{escape(value)}"' for name, value in attributes.items())
    return f'<a href="{escape(url)}"{more}>{escape(text)}</a>'


def json_ld(value: Any) -> str:
    """A block of JSON-LD. A title with markup in it cannot end the block."""
    said = json.dumps(value, ensure_ascii=False, indent=1).replace("<", "\\u003c")
    return f'<script type="application/ld+json">\n{said}\n</script>\n'
