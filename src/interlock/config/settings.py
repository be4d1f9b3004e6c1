"""Every setting, with its default and its meaning; the reference page is made from here."""

from __future__ import annotations

import ipaddress
import re
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

Port = Annotated[int, Field(ge=0, le=65535)]
UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1), "y": timedelta(days=365)}


def length(age: str) -> timedelta | None:
    """`90d` as a length of time; None for `never`."""
    if age == "never":
        return None
    found = re.fullmatch(r"(\d{1,5})([hdwy])", age)
    if found is None or int(found[1]) == 0:
        raise ValueError("must be a number of hours, days, weeks or years such as 12h, 90d, 26w or 7y, or never")
    return int(found[1]) * UNITS[found[2]]


def _age(value: str) -> str:
    length(value)
    return value


Age = Annotated[str, AfterValidator(_age)]


class Table(BaseModel):
    """A table of the file: no key but those declared. Applications derive their settings from it."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class HttpSettings(Table):
    """Where the service listens, and what it takes."""

    host: str = Field("127.0.0.1", description="The address to listen on; 0.0.0.0 is all of them.")
    port: Port = Field(8420, description="The port to listen on; 0 takes a free one.")
    url: str | None = Field(None, description="How others reach it, for links: https://interlock.example.org.")
    hosts: list[str] = Field(
        default_factory=list,
        description="More names that it answers to, or `*.` and a domain; loopback, `host` and `url` always count.",
    )
    proxies: list[str] = Field(
        default_factory=list,
        description="Addresses or networks of the proxies whose X-Forwarded-For, -Proto and -Host count.",
    )
    max_body: int = Field(1_048_576, ge=1024, description="Bytes that the body of a request may have.")
    max_artifact: int = Field(33_554_432, ge=1024, description="Bytes that an uploaded artifact may have.")
    open_metrics: bool = Field(False, description="Whether /metrics answers without a token.")
    stream_limit: int = Field(200, ge=1, description="Live event streams that are open at once.")
    streams_per_caller: int = Field(20, ge=1, description="Of them of one person, or of one agent's token.")
    connections: int = Field(800, ge=1, le=100_000, description="Connections that are open at once.")
    connections_per_address: int = Field(
        400,
        ge=1,
        le=100_000,
        description="Of them from one address (a /64 of IPv6); a proxy of `proxies` may have more.",
    )
    head_seconds: float = Field(20.0, gt=0, le=600, description="Seconds in which a request's headers must have come.")
    body_seconds: float = Field(300.0, gt=0, le=86_400, description="Seconds in which its body must have come.")
    idle_seconds: float = Field(30.0, gt=0, le=600, description="Seconds that a body may stand still.")

    @field_validator("url")
    @classmethod
    def _url(cls, value: str | None) -> str | None:
        if value is not None and not value.startswith(("http://", "https://")):
            raise ValueError("must begin with http:// or https://")
        return value.rstrip("/") if value else None

    def address(self, port: int | None = None) -> str:
        """How the service is reached: `url`, or where it listens (on another port, if that was chosen by itself)."""
        if self.url:
            return self.url
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104 - only shown
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port if port is None else port}"

    @field_validator("hosts")
    @classmethod
    def _names(cls, value: list[str]) -> list[str]:
        for one in value:
            if not re.fullmatch(r"(\*\.)?[A-Za-z0-9._-]+|\[?[0-9A-Fa-f:.]+\]?", one):
                raise ValueError(f"{one!r} must be a name without scheme and port, such as interlock.example.org")
        return value

    @field_validator("proxies")
    @classmethod
    def _networks(cls, value: list[str]) -> list[str]:
        for one in value:
            try:
                ipaddress.ip_network(one, strict=False)
            except ValueError:
                raise ValueError(f"{one!r} must be an address or a network, such as 10.0.0.0/8") from None
        return value


class WorkerSettings(Table):
    """How this process works."""

    concurrency: int = Field(16, ge=1, le=512, description="Handlers that run at once.")
    queues: list[str] | None = Field(None, description="Only these queues; without it all whose code is here.")
    drain: float = Field(
        30.0, ge=0, le=86_400, description="Seconds that running handlers get when the process is asked to stop."
    )


class MailSettings(Table):
    """The mail server for messages of the channel `mail`."""

    host: str = Field(description="The server's name.")
    port: Port = Field(587, description="Its port.")
    sender: str = Field(description="The address that mails come from.")
    username: str | None = Field(None, description="For servers that want a login.")
    password: SecretStr | None = Field(None, description="For servers that want a login.")
    security: Literal["none", "starttls", "tls"] = Field("starttls", description="How the connection is encrypted.")
    timeout: float = Field(30.0, gt=0, le=300, description="Seconds to wait for the server.")


class WebhookSettings(Table):
    """An endpoint for messages of the channel `webhook`; its table's name is the recipient."""

    url: SecretStr = Field(description="Where to post; a secret, of which only scheme and host are shown.")
    secret: SecretStr = Field(min_length=16, description="Signs each message; at least 16 characters.")
    headers: dict[str, SecretStr] = Field(default_factory=dict, description="Sent with each request.")
    timeout: float = Field(15.0, gt=0, le=120, description="Seconds to wait for the answer.")

    @field_validator("url")
    @classmethod
    def _url(cls, value: SecretStr) -> SecretStr:
        if not value.get_secret_value().startswith(("http://", "https://")):
            raise ValueError("must begin with http:// or https://")
        return value


BUILT_IN_RULES = ("queue_lag", "failure_rate", "review_age", "no_worker", "dead_letters", "model_budget")
CHANNELS = ("mail", "webhook")


class AlertSettings(Table):
    """Who is notified of alerts, and how often."""

    notify: list[str] = Field(default_factory=list, description="Recipients: mail:ADDRESS or webhook:NAME.")
    repeat_hours: float = Field(4.0, ge=1 / 60, le=8760, description="Hours after which an open alert is sent again.")
    queue_lag_minutes: float = Field(30.0, gt=0, le=1e6, description="Ready work waits longer than this.")
    failure_rate_percent: float = Field(20.0, gt=0, le=100, description="More of an hour's attempts failed.")
    review_age_hours: float = Field(48.0, gt=0, le=1e6, description="A review is open for longer.")
    dead_letters: int = Field(0, ge=0, description="More dead letters than this are open.")
    model_budget_percent: float = Field(
        80.0, gt=0, le=100, description="This much of a budget for models is used, or more."
    )
    off: list[str] = Field(
        default_factory=list, description="Rules of Interlock or of applications that are not wanted, by name."
    )

    @field_validator("off")
    @classmethod
    def _known_rule(cls, value: list[str]) -> list[str]:
        for one in value:
            if one not in BUILT_IN_RULES and not re.fullmatch(r"[a-z][a-z0-9_]*[_-][a-z0-9_-]+", one):
                raise ValueError(f"must be {', '.join(BUILT_IN_RULES)}, or an application's NAME_rule, not {one!r}")
        return value

    @field_validator("notify")
    @classmethod
    def _known_channel(cls, value: list[str]) -> list[str]:
        for one in value:
            if one.partition(":")[0] not in CHANNELS or not one.partition(":")[2]:
                raise ValueError(f"{one!r} is neither mail:ADDRESS nor webhook:NAME")
        return value


class PriceSettings(Table):
    """What a model costs; its table's name is the model's."""

    input: float = Field(ge=0, le=1e6, description="Dollars for a million tokens that go in.")
    output: float = Field(ge=0, le=1e6, description="Dollars for a million tokens that come out.")


class BudgetSettings(Table):
    """What model calls may cost; its table's name is an application's, or `all` for everything together."""

    day: float | None = Field(None, ge=0, le=1e9, description="Dollars in a day (UTC).")
    month: float | None = Field(None, ge=0, le=1e9, description="Dollars in a calendar month (UTC).")


class AiSettings(Table):
    """Models for the tasks that can use one; needs the extra `ai`. Without a provider rules do the work."""

    provider: Literal["none", "anthropic", "openai"] = Field(
        "none", description="`openai` is any server that speaks its protocol; with `none` nothing is called."
    )
    base_url: str | None = Field(None, description="Where the models are, if not at the provider's own address.")
    api_key: SecretStr | None = Field(
        None, validate_default=True, description="Must be given, except for `openai` with a `base_url`."
    )
    cheap: str | None = Field(None, validate_default=True, description="The model for simple tasks.")
    strong: str | None = Field(None, validate_default=True, description="The model for hard ones.")
    timeout: float = Field(60.0, gt=0, le=600, description="Seconds to wait for one answer.")
    max_tokens: int = Field(4096, ge=1, le=1_000_000, description="Tokens that one answer may have.")
    max_input: int = Field(400_000, ge=1, le=100_000_000, description="Characters that one question may have.")
    cache: bool = Field(True, description="Whether the same question is answered from what was kept.")
    budget_dollars: float | None = Field(None, ge=0, le=1e9, description="What one user may spend in a day (UTC).")
    budget_tokens: int | None = Field(None, ge=0, description="Tokens in and out that one user may use in a day.")
    budgets: dict[str, BudgetSettings] = Field(
        default_factory=dict,
        description="Budgets of applications, by name, and of the installation, named `all`.",
    )
    prices: dict[str, PriceSettings] = Field(
        default_factory=dict,
        validate_default=True,
        description="Prices of models, where the bundled ones are wrong or missing.",
    )

    @field_validator("base_url")
    @classmethod
    def _url(cls, value: str | None) -> str | None:
        if value is not None and not value.startswith(("http://", "https://")):
            raise ValueError("must begin with http:// or https://")
        return value.rstrip("/") if value else None

    @field_validator("api_key")
    @classmethod
    def _key(cls, value: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        provider, elsewhere = info.data.get("provider", "none"), info.data.get("base_url") is not None
        if provider != "none" and not (provider == "openai" and elsewhere) and not (value and value.get_secret_value()):
            raise ValueError(f"must be given with the provider {provider}")
        return value

    @field_validator("cheap", "strong")
    @classmethod
    def _model(cls, value: str | None, info: ValidationInfo) -> str | None:
        if info.data.get("provider", "none") != "none" and not value:
            raise ValueError(f"must name a model of the provider {info.data['provider']}")
        return value

    @field_validator("prices")
    @classmethod
    def _countable(cls, value: dict[str, PriceSettings], info: ValidationInfo) -> dict[str, PriceSettings]:
        """With another `base_url` the bundled prices do not apply, and a budget in dollars needs prices."""
        limited = [name for name in ("budget_dollars", "budgets") if info.data.get(name) not in (None, {})]
        if limited and info.data.get("base_url") is not None:
            for model in filter(None, (info.data.get("cheap"), info.data.get("strong"))):
                if model not in value:
                    raise ValueError(
                        f"must have a price for {model!r}, or {limited[0]} cannot count it; budget_tokens can"
                    )
        return value

    def model(self, tier: Literal["cheap", "strong"]) -> str:
        """The model for tasks of this tier; only with a provider."""
        named = self.cheap if tier == "cheap" else self.strong
        assert named is not None, "a provider comes with a model for each tier"
        return named


class LogSettings(Table):
    """What the process says."""

    format: Literal["console", "json"] = Field("console", description="For people, or for machines.")
    level: Literal["debug", "info", "warning", "error"] = Field("info", description="From which level on.")


class TelemetrySettings(Table):
    """OpenTelemetry spans; needs the extra `telemetry`."""

    endpoint: str | None = Field(None, description="An OTLP/HTTP collector: http://127.0.0.1:4318/v1/traces.")
    service: str = Field("interlock", description="The service's name in the spans.")


class RetentionSettings(Table):
    """How long what is over is kept: `90d`, `12h`, `26w`, `7y` or `never` to remove it."""

    default: Age = Field("never", description="Instances that have ended, of machines that are not named.")
    machines: dict[str, Age] = Field(default_factory=dict, description="Those of this machine.")
    folder: Path | None = Field(None, description="Where they are archived before they go; else `retention` in `data`.")
    messages: Age = Field("never", description="Messages that are settled and of no instance, and what was tried.")
    alerts: Age = Field("never", description="Alerts that are closed.")
    actions: Age = Field("never", description="What people did that is in no instance's history.")
    answers: Age = Field("never", description="Answers of models that are kept to be used again.")
    every: float = Field(60.0, ge=1, le=10_080, description="Minutes between two rounds of a worker.")


class AuditSettings(Table):
    """Checkpoints: what the history was, signed with a key that is not in the database."""

    key: SecretStr | None = Field(
        None, description="The key that signs, as 64 hexadecimal digits; former ones may follow, a line each."
    )
    key_file: Path | None = Field(
        None, description="The file with the key; else `audit.key` beside the embedded database or in `data`."
    )
    file: Path | None = Field(None, description="Where checkpoints are written down, a line each; best elsewhere.")
    every: float = Field(10.0, gt=0, le=10_080, description="Minutes between two checkpoints, if something changed.")


class Settings(BaseSettings):
    """All of it, but for the sections of applications: see `with_sections`."""

    model_config = SettingsConfigDict(env_prefix="INTERLOCK_", env_nested_delimiter="__", extra="forbid", frozen=True)

    database: str | None = Field(None, description="sqlite:///file.db or postgresql://user@host/name; else in `data`.")
    data: Path = Field(Path("data"), description="The folder for the embedded database.")
    durability: Literal["full", "normal"] = Field("full", description="Whether a commit waits for the disk.")
    listen_url: str | None = Field(None, description="PostgreSQL's own address where `database` is a pool's.")
    wakeup: Literal["listen", "poll"] = Field("listen", description="`poll` behind pgbouncer in transaction mode.")
    apps: list[str] = Field(default_factory=list, description="Machines of your own, as package.module:registry.")
    owner: str = Field("owner", description="The first person's name.")
    token: SecretStr | None = Field(None, description="The owner's API token, taken at the first start.")
    redis_url: SecretStr | None = Field(None, description="Where named leases are shown to other systems.")
    secrets: dict[str, SecretStr] = Field(
        default_factory=dict, description="Values that handlers ask for by name; hidden wherever they would appear."
    )
    http: HttpSettings = HttpSettings()
    worker: WorkerSettings = WorkerSettings()
    mail: MailSettings | None = None
    webhooks: dict[str, WebhookSettings] = Field(default_factory=dict)
    alerts: AlertSettings = AlertSettings()
    ai: AiSettings = AiSettings()
    retention: RetentionSettings = RetentionSettings()
    audit: AuditSettings = AuditSettings()
    log: LogSettings = LogSettings()
    telemetry: TelemetrySettings = TelemetrySettings()

    section_names: ClassVar[tuple[str, ...]] = ()
    """Applications whose sections are part of it."""

    def section(self, application: str) -> Any:
        """The settings of an application; None where it has none."""
        return getattr(self, application) if application in self.section_names else None

    @property
    def sections(self) -> dict[str, Any]:
        """The settings of every application, by its name."""
        return {name: getattr(self, name) for name in self.section_names}

    @field_validator("database", "listen_url")
    @classmethod
    def _address(cls, value: str | None) -> str | None:
        import sqlalchemy as sa

        try:
            known = value is None or sa.make_url(value).get_backend_name() in {"sqlite", "postgresql"}
        except (sa.exc.ArgumentError, ValueError):
            known = False
        if not known:
            raise ValueError("must be an address such as sqlite:///file.db or postgresql://user@host/name")
        return value

    @property
    def database_url(self) -> str:
        return self.database or f"sqlite:///{self.data / 'interlock.db'}"
