"""How Alembic reaches the database: by the connection that the program hands over."""

from alembic import context

from storage.partial_indexes import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
)
context.run_migrations()
