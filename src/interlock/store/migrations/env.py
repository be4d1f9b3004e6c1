"""Runs migrations on the connection that interlock.store.migrate gives."""

from alembic import context

from interlock.store import service_tables  # noqa: F401 - fills it
from interlock.store.columns import metadata

connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=metadata,
    version_table=context.config.attributes["version_table"],
    render_as_batch=connection.dialect.name == "sqlite",
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
