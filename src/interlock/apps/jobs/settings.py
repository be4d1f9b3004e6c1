"""The section `[jobs]` of the configuration."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, SecretStr, field_validator, model_validator

from interlock.config import Table
from interlock.config.settings import Age


def _host(value: str) -> str:
    """A host as it stands in an address: a name, an IPv4 address or a bracketed IPv6 one, with a port if it has one."""
    if not re.fullmatch(r"(?:[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?", value):
        raise ValueError(
            "must be a host or host:port as in an address, such as intranet.example.org:8080 or [::1]:8080"
        )
    return value.lower()


Host = Annotated[str, AfterValidator(_host)]


class ApiKey(Table):
    """A key for a JSON API. It is sent to its host and to no other."""

    host: Host = Field(description="The host that the key is for, with its port unless it is the default one.")
    secret: SecretStr = Field(min_length=1, description="The key.")
    place: Literal["header", "query"] = Field("header", description="Where it is sent.")
    name: str = Field(
        "Authorization",
        pattern=r"^[A-Za-z0-9_.-]{1,100}$",
        description="The name of the header or of the query's parameter.",
    )
    prefix: str | None = Field(
        None,
        pattern=r"^[ -~]{0,50}$",
        description="Text before the key; unless it is set, `Bearer ` in the header Authorization, and none elsewhere.",
    )

    @property
    def sent(self) -> str:
        """The key as it is sent."""
        bearer = self.place == "header" and self.name.lower() == "authorization"
        prefix = self.prefix if self.prefix is not None else "Bearer " if bearer else ""
        return prefix + self.secret.get_secret_value()


class EmployerKey(Table):
    """A key that an employer gave you for the applications of its board. It is sent to its host and to no other."""

    system: Literal["greenhouse", "lever", "ashby", "smartrecruiters", "workable", "personio"] = Field(
        description="The system that the key is for."
    )
    secret: SecretStr = Field(min_length=1, max_length=2000, description="The key.")
    boards: list[str] = Field(
        default_factory=list, description="The boards that it is used for, by name; all of the system if none is named."
    )
    host: Host | None = Field(None, description="The host that the key is for; the system's own unless it is set.")
    company_id: str | None = Field(
        None, pattern=r"^[A-Za-z0-9-]{1,100}$", description="The employer's id, which Personio wants with its key."
    )

    @field_validator("secret")
    @classmethod
    def _sendable(cls, value: SecretStr) -> SecretStr:
        text = value.get_secret_value()
        if not (text.isascii() and text.isprintable()) or " " in text:
            raise ValueError("must be printable ASCII without spaces")
        return value


class MailSettings(Table):
    """A mailbox in which answers of employers are looked for. It is only read."""

    mailbox: Path | None = Field(None, description="A mailbox file (mbox), or a folder of `.eml` files.")
    imap_host: str | None = Field(None, pattern=r"^[A-Za-z0-9.-]{1,253}$", description="An IMAP server, in its place.")
    imap_port: int = Field(993, ge=1, le=65535, description="Its port, with TLS from the first byte.")
    imap_user: str = Field("", max_length=300, description="The user.")
    imap_password: SecretStr | None = Field(None, description="The password, best one for this program alone.")
    imap_folder: str = Field("INBOX", pattern=r"^[ -~]{1,200}$", description="The mail folder.")
    imap_ca: Path | None = Field(None, description="Certificates (PEM) to trust instead of the system's.")
    every: float = Field(15.0, ge=1, le=10_080, description="Minutes between two readings.")
    since_days: int = Field(60, ge=1, le=3650, description="IMAP: how many days back mails are read at first.")
    workspace: str = Field("default", max_length=200, description="The workspace whose applications it is about.")

    @model_validator(mode="after")
    def _one(self) -> MailSettings:
        if (self.mailbox is None) == (self.imap_host is None):
            raise ValueError("must have either mailbox or imap_host")
        return self

    @property
    def name(self) -> str:
        """What the mailbox is remembered by."""
        return str(self.mailbox) if self.mailbox else f"{self.imap_user}@{self.imap_host}/{self.imap_folder}"


class AutoApplySettings(Table):
    """How applications are sent."""

    planned: bool = Field(
        False,
        description="Whether new applications get version 2 of the life cycle, which has the states validating, "
        "scheduled and interview_requested.",
    )
    follow_up_days: int = Field(
        7, ge=0, le=365, description="Days after which you are to follow up on an application; 0 makes no follow-up."
    )
    model_line: str = Field(
        "", max_length=300, description="A sentence that ends letters which a model wrote, to say so; none if empty."
    )
    submit_timeout: float = Field(60.0, gt=0, le=600, description="Seconds that sending one application may take.")
    keys: dict[str, EmployerKey] = Field(default_factory=dict, description="Keys of employers, by name.")
    mail: MailSettings | None = Field(None, description="A mailbox in which answers of employers are looked for.")
    demo_host: Host | None = Field(
        None,
        description="The demo world's host, also one of `private_hosts`: its forms are filled in and sent by program.",
    )


class JobsSettings(Table):
    """How jobs are found and applied for."""

    profile: Path = Field(Path("profile.yaml"), description="Your profile, a YAML file.")
    contact: str = Field(
        "", max_length=200, description="A mail address or URL where sites can reach you; part of the User-Agent."
    )
    crawl_every: Age = Field("6h", description="How often each active source is crawled; `never` stops it.")
    max_retries: int = Field(3, ge=0, le=100, description="Attempts after the first one that failed.")
    digest_hour: int = Field(8, ge=0, le=23, description="The hour of the day, in your time zone, of the digest.")
    digest_to: list[str] = Field(
        default_factory=list, description="Mail addresses that get a digest of new matches once a day."
    )
    keep_answers: Age = Field("30d", description="How long raw answers are kept that no posting was read from lately.")
    keep_closed: Age = Field("180d", description="How long closed postings stay that nobody saved or applied for.")
    rate: float = Field(1.0, ge=0, le=3600, description="Seconds between two requests to one host.")
    timeout: float = Field(60.0, gt=0, le=3600, description="Seconds that one request may take as a whole.")
    most_bytes: int = Field(
        20_000_000,
        ge=1024,
        le=1_000_000_000,
        description="Bytes that an answer may have, decompressed; pages of companies and postings at most 5,000,000.",
    )
    private_hosts: list[Host] = Field(
        default_factory=list,
        description="Hosts on private addresses or unusual ports that may be fetched, as `host` or `host:port`.",
    )
    api_keys: dict[str, ApiKey] = Field(default_factory=dict, description="Keys of JSON APIs, by name.")

    autoapply: AutoApplySettings = Field(default_factory=AutoApplySettings, description="How applications are sent.")

    browser: Path | None = Field(
        None, description="The Chromium for sources that need a browser; one in the PATH if it is not set."
    )
    browser_sandbox: bool = Field(
        True, description="Whether Chromium runs in its sandbox; off only in a container that has nothing else in it."
    )

    @field_validator("contact")
    @classmethod
    def _contact(cls, value: str) -> str:
        if not re.fullmatch(r"[!-'*-~]*", value):
            raise ValueError("must be a mail address or a URL: printable ASCII without spaces and parentheses")
        return value

    @field_validator("api_keys")
    @classmethod
    def _names(cls, value: dict[str, ApiKey]) -> dict[str, ApiKey]:
        # A variable of the environment names a key in any case.
        return {name.lower(): key for name, key in value.items()}
