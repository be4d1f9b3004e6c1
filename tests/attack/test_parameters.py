"""A query parameter that an address does not take is refused by name, everywhere; so is a field of a body."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pydantic import BaseModel

from tests.attack.addresses import EACH, filled, routes
from tests.support.api import Api
from tests.support.site import Site

pytestmark = pytest.mark.soak("postgresql")


def test_each_address_refuses_a_parameter_that_it_does_not_take(site: Site) -> None:
    me, wrong = site.browser(), []
    for method, path in EACH:
        answer = me.request(method, filled(path), params={"stat3": "x"}, follow_redirects=False)
        if answer.status_code != 422 or "no query parameter" not in answer.text or "stat3" not in answer.text:
            wrong.append((method, path, answer.status_code))
    assert wrong == []
    assert len(EACH) > 150


def test_the_refusal_names_it_the_nearest_one_and_all_that_there_are(api: Api) -> None:
    refused = api.get("/api/instances?stat=new")
    body = refused.json()
    assert (refused.status_code, body["type"], body["errors"][0]["place"]) == (422, "invalid", "query.stat")
    assert (
        "no query parameter 'stat' here; did you mean 'state'? it takes after, count, error, finished" in body["detail"]
    )
    none = api.get("/healthz?x=1").json()
    assert none["detail"] == "there is no query parameter 'x' here; it takes none"


def test_the_quick_way_of_claims_refuses_it_as_well(api: Api) -> None:
    body = {"action": "add", "jobs": [{"board": "b", "job_id": "1"}]}
    assert api.post("/api/crawler/jobs?workspce=north", body, "agent").status_code == 422
    assert api.post("/api/crawler/jobs", body, "agent").status_code == 200


def test_a_parameter_that_is_only_spelt_otherwise_is_another(api: Api) -> None:
    for query in ("State=new", "state%20=new", "%73tat=new", "machine[]=order", "=x", "machine=order&&oops"):
        assert api.get(f"/api/instances?{query}").status_code == 422, query
    assert api.get("/api/instances?%73tate=new").status_code == 200


def test_a_page_says_it_on_a_page(site: Site) -> None:
    refused = site.get("/ui/instances?machin=order")
    assert (refused.status_code, refused.headers["content-type"].partition(";")[0]) == (422, "text/html")
    assert "machin" in refused.text
    assert "did you mean" in refused.text
    assert site.get("/ui/instances?machine=order&said=Done").status_code == 200


def test_a_thousand_parameters_are_refused_at_once(api: Api) -> None:
    assert api.get("/api/instances?" + "&".join(f"a{n}=1" for n in range(1000))).status_code == 422


def bodies() -> Iterator[tuple[str, type[BaseModel]]]:
    for route in routes():
        kind = getattr(getattr(route.body_field, "field_info", None), "annotation", None)
        for one in getattr(kind, "__args__", (kind,)):
            if isinstance(one, type) and issubclass(one, BaseModel) and not one.__name__.startswith("Body_"):
                yield route.path, one


def test_each_body_refuses_a_field_that_it_does_not_have() -> None:
    found = list(bodies())
    assert [(path, model) for path, model in found if model.model_config.get("extra") != "forbid"] == []
    assert len(found) > 25
