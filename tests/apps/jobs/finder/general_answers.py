"""Pages, feeds and answers of sources that are no known system, with their configurations."""

from __future__ import annotations

import json
from typing import Any

LIST = "https://nordlicht.example/careers"
JOB: dict[str, Any] = {
    "@context": "https://schema.org",
    "@type": "JobPosting",
    "title": "Cook",
    "description": "<p>Soup</p>",
    "datePosted": "2026-08-01",
    "validThrough": "2026-09-01",
    "employmentType": ["FULL_TIME", "CONTRACTOR"],
    "hiringOrganization": {"@type": "Organization", "name": "Nordlicht AG"},
    "url": "/jobs/1?utm_source=x",
    "jobLocation": {"@type": "Place", "address": {"addressLocality": "Kiel", "addressCountry": {"name": "Germany"}}},
    "jobLocationType": "TELECOMMUTE",
    "applicantLocationRequirements": [{"@type": "Country", "name": "Germany"}, "France"],
    "baseSalary": {
        "@type": "MonetaryAmount",
        "currency": "EUR",
        "value": {"@type": "QuantitativeValue", "minValue": "30.5", "maxValue": 40, "unitText": "HOUR"},
    },
    "identifier": {"@type": "PropertyValue", "name": "Nordlicht", "value": "N-1"},
    "qualifications": "<p>Spoon</p>",
}
RSS = """<?xml version="1.0"?><rss version="2.0"><channel><title>All jobs</title><language>en-us</language>
<item><title>Nordlicht: Cook</title><link>/jobs/1</link><guid>g1</guid><region>Kiel, Germany</region>
<type>Full-Time</type><category>Galley</category><category>Ship</category>
<pubDate>Wed, 04 Feb 2026 09:26:20 +0100</pubDate>
<description>&lt;p&gt;Soup&lt;script&gt;x&lt;/script&gt;</description></item>
<item><title>Stoker at Südlicht</title><link>https://nordlicht.example/jobs/2</link></item></channel></rss>"""
ATOM = """<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom"><title>Jobs</title>
<entry><title>Cook</title><link href="https://nordlicht.example/jobs/1"/><id>urn:1</id>
<updated>2026-02-04T08:00:00Z</updated>
<content type="html">&lt;p&gt;Soup&lt;/p&gt;</content></entry></feed>"""
JSON_FEED = {
    "version": "https://jsonfeed.org/version/1.1",
    "title": "Jobs",
    "next_url": "https://nordlicht.example/feed.json?p=2",
    "items": [
        {
            "id": "1",
            "url": "https://nordlicht.example/jobs/1",
            "title": "Cook",
            "content_html": "<p>Soup</p>",
            "date_published": "2026-02-04T08:00:00Z",
        }
    ],
}
CARDS = "".join(
    f'<li class="job-card css-1x{n}"><a href="/careers/jobs/{n}-cook"><h3 class="job-title">Cook {n}</h3></a>'
    f'<span class="job-location">Kiel, Germany</span><time datetime="2026-08-0{n}">recently</time></li>'
    for n in range(1, 8)
)
PAGE = (
    '<html><nav><a href="/careers/benefits">Benefits</a><a href="/blog/jobs-are-fun">Blog</a></nav>'
    f'<ul class="list">{CARDS}</ul>'
    '<a class="next" rel="next" href="?page=2">Next</a></html>'
)
SELECTORS = {
    "url": LIST,
    "method": "selenium",
    "company_name": "Nordlicht",
    "selectors": {
        "job_list": ".job-card",
        "title": ".missing",
        "location": ".job-location",
        "link": "a[href]",
        "posted_date": "time@datetime",
    },
    "alternative_selectors": [{"title": "h3.job-title"}],
    "pagination": {"next_button": "a.next", "max_pages": 3},
}
API: dict[str, Any] = {
    "data": {
        "jobs": [
            {
                "id": 7,
                "position": "Cook",
                "company": {"name": "Nordlicht"},
                "city": "Kiel",
                "url": "https://nordlicht.example/jobs/7",
                "is_remote": True,
                "salary_min": 40000,
                "salary_max": 50000,
                "epoch": 1785000000,
                "tags": ["soup"],
                "nested": {"x": ["Night"]},
            },
        ]
    },
    "total": 3,
}
API_CONFIG = {
    "base_url": "https://api.nordlicht.example",
    "auth_type": "api_key",
    "api_key_env": "NORDLICHT_KEY",
    "endpoints": {"search": "/jobs/search", "details": "/jobs/{id}"},
    "params": {"remote": True, "limit": 1},
    "response_path": "data.jobs",
    "fields": {"department": "nested.x"},
    "pagination": {"param": "offset", "total_path": "total", "size": 1},
}
CONFIGURED: dict[str, tuple[Any, Any]] = {
    "feed": (RSS, {"company_extraction": "from_title", "location_field": "region"}),
    "jsonld": (f'<script type="application/ld+json">{json.dumps(JOB)}</script>', None),
    "html": (PAGE, SELECTORS),
    "api": (API, API_CONFIG),
}
