"""Configuration: one TOML file and environment variables, checked as a whole before anything starts.

`INTERLOCK_HTTP__PORT=9000` is `port` in the table `[http]`; a variable overrides the file. An unknown key or variable
is an error, because a setting that is silently ignored is worse.

An application may declare a section of its own, derived from `Table`. So loading the settings loads the applications:
those that are installed, and those that `apps` names.
"""

from interlock.machine import extras

extras.require("service", "pydantic_settings")

from interlock.config.loading import ConfigError, load, shown
from interlock.config.settings import (
    AiSettings,
    AlertSettings,
    AuditSettings,
    BudgetSettings,
    HttpSettings,
    LogSettings,
    MailSettings,
    PriceSettings,
    RetentionSettings,
    Settings,
    Table,
    TelemetrySettings,
    WebhookSettings,
    WorkerSettings,
)

__all__ = [
    "AiSettings",
    "AlertSettings",
    "AuditSettings",
    "BudgetSettings",
    "ConfigError",
    "HttpSettings",
    "LogSettings",
    "MailSettings",
    "PriceSettings",
    "RetentionSettings",
    "Settings",
    "Table",
    "TelemetrySettings",
    "WebhookSettings",
    "WorkerSettings",
    "load",
    "shown",
]
