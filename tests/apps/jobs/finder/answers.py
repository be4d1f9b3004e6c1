"""Answers in the shapes of the real systems, small and made up."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import orjson

from interlock.apps.jobs.finder.identity.addresses import Address, address_of

NOW = datetime(2026, 8, 10, 12, tzinfo=UTC)
UUID = "0b8ff6f2-4c1e-4b0e-9a55-5c3f6d9f2a10"

BOARDS = {
    "greenhouse": "https://boards.greenhouse.io/nordlicht",
    "lever": "https://jobs.lever.co/nordlicht",
    "ashby": "https://jobs.ashbyhq.com/NordLicht",
    "workday": "https://nordlicht.wd3.myworkdayjobs.com/en-US/Karriere",
    "recruitee": "https://nordlicht.recruitee.com",
    "smartrecruiters": "https://careers.smartrecruiters.com/Nordlicht",
    "workable": "https://apply.workable.com/nordlicht",
    "personio": "https://nordlicht.jobs.personio.de",
    "teamtailor": "https://nordlicht.teamtailor.com/jobs",
    "bamboohr": "https://nordlicht.bamboohr.com/careers",
    "jobvite": "https://jobs.jobvite.com/nordlicht",
}

GREENHOUSE = {
    "jobs": [
        {
            "id": 4007001,
            "internal_job_id": 17,
            "title": "Ship&#39;s Cook ",
            "absolute_url": "https://nordlicht.example/jobs?gh_jid=4007001",
            "updated_at": "2026-08-01T10:00:00-04:00",
            "first_published": "2026-07-20T08:30:00-04:00",
            "application_deadline": "2026-09-30",
            "requisition_id": "R-17",
            "company_name": "Nordlicht AG ",
            "location": {"name": "Hybrid; Remote"},
            "language": "en",
            "metadata": [{"id": 1, "name": "Employment Type", "value": "Full-time", "value_type": "single_select"}],
            "content": "&lt;p&gt;Cook &amp;amp; serve.&lt;/p&gt;&lt;ul&gt;&lt;li&gt;Soup&lt;/li&gt;&lt;/ul&gt;"
            "&lt;script&gt;alert(1)&lt;/script&gt;",
            "departments": [{"id": 3, "name": "Galley", "child_ids": [], "parent_id": None}],
            "offices": [{"id": 5, "name": "Kiel", "location": "Kiel, Germany", "child_ids": [], "parent_id": None}],
        },
        {
            "id": 4007002,
            "title": "Stoker",
            "absolute_url": "https://boards.greenhouse.io/nordlicht/jobs/4007002",
            "updated_at": "2026-08-01T10:00:00Z",
            "location": {"name": "Portland, OR"},
            "metadata": None,
        },
    ],
    "meta": {"total": 2},
}
GREENHOUSE_DETAIL = {
    **GREENHOUSE["jobs"][0],  # type: ignore[dict-item]
    "pay_input_ranges": [
        {"min_cents": 4000000, "max_cents": 5200050, "currency_type": "EUR", "title": "Annual salary", "blurb": None}
    ],
    "questions": [
        {
            "label": "Resume",
            "required": True,
            "fields": [
                {"name": "resume", "type": "input_file", "values": []},
                {"name": "resume_text", "type": "textarea", "values": []},
            ],
        },
        {
            "label": "Ship?",
            "required": False,
            "fields": [
                {"name": "question_9", "type": "multi_value_single_select", "values": [{"value": 1, "label": "Yes"}]}
            ],
        },
    ],
}
LEVER = [
    {
        "id": UUID,
        "text": "Stoker",
        "categories": {
            "commitment": "Full-time",
            "location": "Peoria, IL",
            "team": "Engine",
            "department": "Ship",
            "allLocations": ["Peoria, IL", "Kiel, Germany"],
        },
        "country": "US",
        "workplaceType": "hybrid",
        "createdAt": 1785000000000,
        "description": "<div>Keep it hot.</div>",
        "lists": [
            {"text": "Requirements", "content": "<li>Coal</li><li>Steam</li>"},
            {"text": "What you'll do", "content": "<li>Stoke</li>"},
        ],
        "additional": "<div>Free soup.</div>",
        "salaryRange": {"currency": "USD", "interval": "per-hour-wage", "min": 21.5, "max": 30},
        "hostedUrl": f"https://jobs.lever.co/nordlicht/{UUID}",
        "applyUrl": f"https://jobs.lever.co/nordlicht/{UUID}/apply",
    }
]
ASHBY = {
    "apiVersion": "1",
    "jobs": [
        {
            "id": UUID,
            "title": "Navigator",
            "department": "Bridge",
            "team": "Charts",
            "employmentType": "PartTime",
            "location": "Kiel",
            "isListed": True,
            "isRemote": True,
            "workplaceType": "Hybrid",
            "publishedAt": "2026-07-08T19:48:19.767+00:00",
            "address": {"postalAddress": {"addressLocality": "Kiel", "addressRegion": "", "addressCountry": "Germany"}},
            "secondaryLocations": [
                {"location": "Oslo", "address": {"addressLocality": "Oslo", "addressCountry": "Norway"}}
            ],
            "jobUrl": f"https://jobs.ashbyhq.com/NordLicht/{UUID}",
            "applyUrl": f"https://jobs.ashbyhq.com/NordLicht/{UUID}/application",
            "descriptionHtml": "<p>Find the way.</p>",
            "compensation": {
                "compensationTierSummary": "€50K - €60K",
                "summaryComponents": [
                    {"compensationType": "EquityPercentage", "interval": "NONE", "minValue": 0.1, "maxValue": 0.2},
                    {
                        "compensationType": "Salary",
                        "interval": "1 YEAR",
                        "currencyCode": "EUR",
                        "minValue": 50000,
                        "maxValue": 60000,
                    },
                ],
            },
        },
        {"id": "hidden", "title": "Secret", "isListed": False, "jobUrl": "https://jobs.ashbyhq.com/NordLicht/x"},
    ],
}
WORKDAY: dict[str, Any] = {
    "total": 2,
    "jobPostings": [
        {
            "title": "Deck Hand",
            "externalPath": "/job/Illinois---Peoria/Deck-Hand_R-1001-2",
            "locationsText": "3 Locations",
            "postedOn": "Posted 5 Days Ago",
            "bulletFields": ["R-1001"],
        },
        {
            "title": "Pilot",
            "externalPath": "/job/Kiel/Pilot_R-1002",
            "locationsText": "Kiel, Germany",
            "remoteType": "On-site",
            "timeType": "Full time",
            "postedOn": "Posted 30+ Days Ago",
            "bulletFields": ["R-1002"],
        },
    ],
    "facets": [],
    "userAuthenticated": False,
}
WORKDAY_DETAIL = {
    "jobPostingInfo": {
        "id": "x",
        "title": "Deck Hand",
        "jobDescription": "<p>Scrub.</p>",
        "location": "Peoria, IL",
        "additionalLocations": ["Kiel, Germany"],
        "postedOn": "Posted 5 Days Ago",
        "startDate": "2026-08-05",
        "endDate": "2026-10-01",
        "timeType": "Full time",
        "remoteType": "Hybrid",
        "jobReqId": "R-1001",
        "country": {"descriptor": "United States of America", "id": "1"},
        "externalUrl": "https://nordlicht.wd3.myworkdayjobs.com/Karriere/job/Illinois---Peoria/Deck-Hand_R-1001-2",
    },
    "hiringOrganization": {"name": "Nordlicht AG", "url": ""},
}
RECRUITEE = {
    "offers": [
        {
            "id": 77,
            "slug": "lotse",
            "status": "published",
            "title": "Lotse (m/w/d)",
            "company_name": "Nordlicht",
            "description": "<p>Du führst Schiffe.</p>",
            "requirements": "<p>Patent</p>",
            "department": "Brücke",
            "employment_type_code": "parttime_fixed_term",
            "experience_code": "entry_level",
            "location": "Kiel, Schleswig-Holstein, Deutschland",
            "city": "Kiel",
            "country": "Deutschland",
            "country_code": "DE",
            "locations": [
                {
                    "id": 1,
                    "name": "Hafen",
                    "city": "Kiel",
                    "state": "Schleswig-Holstein",
                    "country": "Deutschland",
                    "country_code": "DE",
                }
            ],
            "remote": False,
            "hybrid": False,
            "on_site": True,
            "salary": {"min": "3100", "max": "3900.50", "period": "month", "currency": "EUR"},
            "published_at": "2026-08-05 10:10:39 UTC",
            "created_at": "2026-08-01 10:10:39 UTC",
            "updated_at": "2026-08-06 10:10:39 UTC",
            "close_at": None,
            "careers_url": "https://jobs.nordlicht.example/o/lotse",
            "careers_apply_url": "https://jobs.nordlicht.example/o/lotse/c/new",
            "mailbox_email": "job.x@nordlicht.recruitee.com",
            "options_cv": "required",
            "options_phone": "off",
            "options_cover_letter": "optional",
            "options_photo": "off",
            "translations": {"de": {"title": "Lotse"}},
            "open_questions": [
                {
                    "id": 5,
                    "kind": "multi_choice",
                    "required": True,
                    "body": "Which seas?",
                    "options": {},
                    "open_question_options": [{"body": "North"}, {"body": "Baltic"}],
                },
                {
                    "id": 6,
                    "kind": "string",
                    "required": False,
                    "body": "Since when?",
                    "options": {"length": 120},
                    "open_question_options": [],
                },
            ],
        },
        {
            "id": 78,
            "slug": "x",
            "status": "internal",
            "title": "Secret",
            "careers_url": "https://jobs.nordlicht.example/o/x",
        },
    ]
}
SMARTRECRUITERS: dict[str, Any] = {
    "offset": 0,
    "limit": 100,
    "totalFound": 1,
    "content": [
        {
            "id": "743999671674844",
            "uuid": UUID,
            "name": "Purser",
            "refNumber": "REF30D",
            "company": {"identifier": "Nordlicht", "name": "Nordlicht AG"},
            "releasedDate": "2026-07-08T02:11:28.000Z",
            "location": {
                "city": "Kiel",
                "region": "SH",
                "country": "de",
                "remote": False,
                "hybrid": True,
                "fullLocation": "Kiel, SH, Germany",
                "latitude": "54.32",
                "longitude": "10.13",
            },
            "department": {},
            "typeOfEmployment": {"id": "permanent", "label": "Full-time"},
            "experienceLevel": {"id": "entry_level", "label": "Entry Level"},
            "visibility": "PUBLIC",
            "language": {"code": "en", "label": "English"},
        }
    ],
}
SMARTRECRUITERS_DETAIL = {
    **SMARTRECRUITERS["content"][0],
    "jobAd": {
        "sections": {
            "companyDescription": {"title": "Us", "text": "<p>A ship.</p>"},
            "jobDescription": {"title": "Tasks", "text": "<p>Count coins.</p>"},
            "qualifications": {"title": "You", "text": "<p>Numbers.</p>"},
            "additionalInformation": {"title": "More", "text": ""},
        }
    },
    "compensation": {"salary": {"min": 40000, "max": 50000, "currency": "EUR", "period": "YEARLY"}},
}
WORKABLE = {
    "name": "Nordlicht",
    "jobs": [
        {
            "title": "Doctor",
            "shortcode": "AB12CD34EF",
            "telecommuting": True,
            "department": "Sick bay",
            "employment_type": "Contract",
            "experience": "Director",
            "url": "https://apply.workable.com/j/AB12CD34EF",
            "application_url": "https://apply.workable.com/j/AB12CD34EF/apply",
            "published_on": "2026-08-05",
            "created_at": "2026-07-02",
            "country": country,
            "city": "",
            "state": "",
            "description": "<p>Heal.</p>",
            "locations": [{"country": country, "countryCode": code, "city": "", "region": None, "hidden": False}],
        }
        for country, code in (("Spain", "ES"), ("Portugal", "PT"))
    ],
}
PERSONIO = """<?xml version='1.0' encoding='UTF-8'?>
<workzag-jobs>
<position>
  <id>18341</id><subcompany>Nordlicht SE &amp; Co. KG</subcompany><office>Kiel</office>
  <additionalOffices><office>Rostock</office></additionalOffices>
  <department>Deck</department><recruitingCategory>Crew</recruitingCategory><name>Boatswain</name>
  <jobDescriptions>
    <jobDescription><name>Your tasks</name><value><![CDATA[<p>Ropes</p>]]></value></jobDescription>
    <jobDescription><name>Your profile</name><value><![CDATA[<ul><li>Knots</li></ul>]]></value></jobDescription>
  </jobDescriptions>
  <employmentType>permanent</employmentType><seniority>entry-level</seniority><schedule>part-time</schedule>
  <yearsOfExperience>1-2</yearsOfExperience><createdAt>2026-07-13T14:10:41+00:00</createdAt>
</position>
<position>
  <id>18342</id><office>Kiel</office><name>Cabin Boy</name>
  <employmentType>intern</employmentType><schedule>full-time</schedule>
</position>
</workzag-jobs>
"""
TEAMTAILOR = {
    "version": "https://jsonfeed.org/version/1.1",
    "title": "Nordlicht",
    "home_page_url": "https://nordlicht.teamtailor.com/jobs",
    "feed_url": "https://nordlicht.teamtailor.com/jobs.json",
    "items": [
        {
            "id": UUID,
            "title": "Gunner",
            "url": "https://nordlicht.teamtailor.com/jobs/7167985-gunner",
            "date_published": "2026-02-04T09:26:20+01:00",
            "_jobposting": {
                "@type": "JobPosting",
                "title": "Gunner",
                "identifier": {"@type": "PropertyValue", "value": 7167985},
                "datePosted": "2026-02-04T09:26:20+01:00",
                "description": "<p>Boom.</p>",
                "employmentType": "FULL_TIME",
                "jobLocation": [
                    {
                        "@type": "Place",
                        "address": {
                            "@type": "PostalAddress",
                            "addressLocality": "Oslo",
                            "addressCountry": "NO",
                            "addressRegion": "Europe",
                        },
                    }
                ],
            },
        }
    ],
}
TEAMTAILOR_RSS = """<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0" xmlns:tt="https://teamtailor.com/locations"><channel><title>Nordlicht</title>
<item><title>Gunner</title><link>https://nordlicht.teamtailor.com/jobs/7167985-gunner</link>
<description>&lt;p&gt;Boom.&lt;/p&gt;</description><pubDate>Wed, 04 Feb 2026 09:26:20 +0100</pubDate>
<guid>0b8ff6f2</guid><remoteStatus>fully</remoteStatus>
<tt:locations><tt:location><tt:name>HQ</tt:name><tt:city>Oslo</tt:city><tt:country>Norway</tt:country></tt:location>
<tt:location><tt:name>Harbour</tt:name><tt:city>Kiel</tt:city><tt:country>Germany</tt:country></tt:location></tt:locations>
<tt:department>Guns</tt:department><tt:role>Crew</tt:role></item>
</channel></rss>
"""
BAMBOOHR = {
    "meta": {"totalCount": 1},
    "result": [
        {
            "id": "86",
            "jobOpeningName": "Carpenter",
            "departmentId": "1",
            "departmentLabel": "Wood ",
            "employmentStatusLabel": "Full Time",
            "employmentType": None,
            "location": {"city": "Tampa", "state": "Florida"},
            "atsLocation": {"country": None, "state": None, "province": None, "city": None},
            "isRemote": None,
            "locationType": "2",
        }
    ],
}
BAMBOOHR_DETAIL = {
    "meta": {},
    "result": {
        "jobOpening": {
            "jobOpeningShareUrl": "https://nordlicht.bamboohr.com/careers/86",
            "jobOpeningName": "Carpenter",
            "employmentStatusLabel": "Full Time",
            "description": "<p>Planks.</p>",
            "datePosted": "2026-07-01",
            "minimumExperience": "Mid-level",
            "locationType": "2",
            "location": {"city": "Tampa", "state": "Florida", "postalCode": "1", "addressCountry": "United States"},
        }
    },
}
JOBVITE = """<?xml version="1.0"?><result><job><id>oAbCdEfg</id><title>Sailmaker</title><category>Sails</category>
<location>Kiel, Germany</location><date>7/4/2026</date>
<detail-url><![CDATA[https://jobs.jobvite.com/nordlicht/job/oAbCdEfg]]></detail-url>
<apply-url><![CDATA[https://jobs.jobvite.com/nordlicht/job/oAbCdEfg/apply]]></apply-url>
<description><![CDATA[<p>Sew.</p>]]></description></job></result>
"""
JOBVITE_PAGE = """<!doctype html><html><body ng-app="jv.careersite.desktop.app"><table>
<tr><td><a href="/nordlicht/job/oAbCdEfg">Sailmaker</a></td><td class="jv-job-list-location">Tampa, Florida</td></tr>
<tr><td><a href="/nordlicht/job/oAbCdEfh">Rigger</a></td></tr></table><a href="/nordlicht/about">About</a></body></html>
"""
LISTS: dict[str, Any] = {
    "greenhouse": GREENHOUSE,
    "lever": LEVER,
    "ashby": ASHBY,
    "workday": WORKDAY,
    "recruitee": RECRUITEE,
    "smartrecruiters": SMARTRECRUITERS,
    "workable": WORKABLE,
    "personio": PERSONIO,
    "teamtailor": TEAMTAILOR,
    "bamboohr": BAMBOOHR,
    "jobvite": JOBVITE,
}
DETAILS: dict[str, Any] = {
    "greenhouse": GREENHOUSE_DETAIL,
    "workday": WORKDAY_DETAIL,
    "smartrecruiters": SMARTRECRUITERS_DETAIL,
    "bamboohr": BAMBOOHR_DETAIL,
}


def board(kind: str) -> Address:
    found = address_of(BOARDS[kind])
    assert found is not None
    return found


def body(value: Any) -> bytes:
    return value.encode() if isinstance(value, str) else orjson.dumps(value)
