"""What callers send to the finder's endpoints."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, model_validator

Line = Annotated[str, Field(max_length=500)]
Url = Annotated[str, Field(min_length=1, max_length=4000, examples=["https://boards.greenhouse.io/kind"])]
LONGEST_TEXT = 1_000_000


class Body(BaseModel):
    """Settings that all request bodies share."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, value: Any) -> Any:
        """A field that is null is one that was left out."""
        return {name: one for name, one in value.items() if one is not None} if isinstance(value, dict) else value


class InWorkspace(Body):
    """A body about a new item."""

    workspace: Annotated[
        str | None, Field(max_length=200, description="The workspace; may be left out if you have only one.")
    ] = None


class CompanyBody(InWorkspace):
    """A company to find out about. One of the two is needed."""

    name: Line = Field("", examples=["Kind Boats"])
    website: Annotated[str, Field(max_length=4000)] | None = Field(None, examples=["https://kind.example"])


class SourceBody(InWorkspace):
    """An address to look at as a source of postings."""

    url: Url
    type_hint: Annotated[str, Field(max_length=50)] = Field("auto", description="`auto`, or a kind of source.")
    company_id: UUID | None = None
    company_name: Line = ""
    auto_enable: bool = Field(True, description="Crawl it without asking if its confidence is high.")
    validation_required: bool = Field(False, description="Ask a person before it is crawled.")
    config: dict[str, Any] = Field(
        default_factory=dict, description="For `html`, `feed` and `api`: selectors, fields, endpoints."
    )


class JobData(BaseModel):
    """What is known of a posting already. Other fields are ignored."""

    model_config = ConfigDict(extra="ignore")

    title: Line | None = None
    company: Line | None = Field(None, validation_alias=AliasChoices("company", "company_name"))
    company_website: Annotated[str, Field(max_length=4000)] | None = None
    location: Line | None = None
    description: Annotated[str, Field(max_length=LONGEST_TEXT)] | None = None
    posted_date: Annotated[str, Field(max_length=100)] | None = None
    salary: Line | None = None


class ListingBody(InWorkspace):
    """A posting to filter and match."""

    url: Url
    job_data: JobData | None = Field(
        None,
        validation_alias=AliasChoices("job_data", "scraped_data"),
        description="With it, the address is not fetched. Also read as `scraped_data`.",
    )


class ReasonBody(Body):
    """Why somebody does something."""

    reason: Line = Field("", examples=["A friend works there."])
