"""The app as one object, in which every event asks whose it is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import gradio as gr
from gradio.utils import get_upload_folder, is_in_or_equal

from exchange.accounts import Accounts, Role
from exchange.background import Runs
from exchange.endpoints import Endpoints
from judge.domain import AccordError
from storage.store import Store
from ui.agreement import Agreement
from ui.doors import Door
from ui.examples import list_examples
from ui.gate import BEYOND_ROLE, FAULT, FOR_ADMINS
from ui.judges import Judges
from ui.logs import FAULTS
from ui.page import Page, Settings, open_door, put_header
from ui.playground import Playground
from ui.review import Review
from ui.settings import SettingsPage
from ui.studies import Studies
from ui.users import Users

SESSIONS = 500  # open pages that Gradio keeps a state of, 0.4 MB each; a page beyond them begins anew


class Guarded(gr.Blocks):  # type: ignore[misc]
    """Pages of which every event checks the role of who sends it, whichever way it came in.

    Gradio runs any event by its number, on a page or not, private or not; all ways lead through one method.
    """

    accounts: Accounts
    for_annotators: frozenset[int] = frozenset()  # the numbers of the events that are not for leads alone
    for_admins: frozenset[int] = frozenset()

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.doors: dict[str, Callable[..., Any]] = {}  # what `open_door` opened

    def guarded_doors(self) -> dict[str, Door]:
        """Return every door by its name, with the least role that may go through."""
        events = {event.api_name: event for event in self.fns.values()}
        return {name: Door(handler, self._least(events[name])) for name, handler in self.doors.items()}

    async def process_api(self, block_fn: Any, inputs: list[Any], *rest: Any, **named: Any) -> dict[str, Any]:
        """Run an event, if who asks for it may."""
        request = named.get("request")
        asking = request[0] if isinstance(request, list) and request else request
        name = getattr(asking, "username", None)
        _check_files(inputs)
        try:
            await asyncio.to_thread(self._check_role, name, block_fn)
            return dict(await super().process_api(block_fn, inputs, *rest, **named))
        except gr.Error:
            raise
        except AccordError as error:  # the database's can meet any event, so no handler has to think of it
            raise gr.Error(str(error), print_exception=False) from error
        except Exception as error:
            FAULTS.exception("an event broke")
            raise gr.Error(FAULT, print_exception=False) from error

    def _check_role(self, name: str | None, block_fn: Any) -> None:
        if not self.accounts.allows(name, self._least(block_fn)):
            raise gr.Error(BEYOND_ROLE, print_exception=False)

    def _least(self, block_fn: Any) -> Role:
        """Return the least role that may run an event; what is not known here is for admins."""
        number = block_fn if isinstance(block_fn, int) else block_fn._id  # noqa: SLF001
        known = self.fns.get(number)
        if number in self.for_admins or known is None:
            return "admin"
        same = isinstance(block_fn, int) or known is block_fn
        return "annotator" if number in self.for_annotators and same else "lead"


def build_app(
    store: Store,
    settings: Settings,
    endpoints: Endpoints | None = None,
    runs: Runs | None = None,
    accounts: Accounts | None = None,
) -> Guarded:
    """Return the app over a store, ready to launch once; the first page is the one at the root.

    Whoever gives it endpoints and runs of their own closes them when its server has stopped.
    """
    endpoints = endpoints or Endpoints(store, settings.weights)
    runs = runs or Runs(store, endpoints)
    accounts = accounts or Accounts(store)
    pages: list[Page] = [
        Review(store, endpoints),
        Judges(store, endpoints, runs),
        Agreement(store),
        Studies(store, settings),
        Playground(settings.protocols, list_examples(), store, endpoints),
        SettingsPage(endpoints),
        Users(accounts),
    ]

    def list_studies() -> list[str]:
        return [study.name for study in store.studies()]

    def open_pages(request: gr.Request) -> list[str]:
        lead, admin = (accounts.allows(request.username, role) for role in ("lead", "admin"))
        return [page.path for page in pages if page is pages[0] or (admin if page.path in FOR_ADMINS else lead)]

    # Files that were sent or fetched are gone from the server a day later.
    with Guarded(title="Accord", analytics_enabled=False, fill_width=True, delete_cache=(3600, 86400)) as blocks:
        open_door(list_studies, "list_studies")
        open_door(open_pages, "open_pages")
        _put(pages[0], pages)
    blocks.state_session_capacity = SESSIONS
    blocks.accounts = accounts
    blocks.for_annotators = frozenset(blocks.fns)
    for page in pages[1:]:
        before = frozenset(blocks.fns)
        with blocks.route(page.title, page.path, show_in_navbar=False):
            _put(page, pages)
        if page.path in FOR_ADMINS:
            blocks.for_admins |= frozenset(blocks.fns) - before
    made: Guarded = blocks
    return made


def _check_files(inputs: Any) -> None:
    """Refuse a file that was not sent here: gradio would copy it from the machine, or fetch it from somewhere else."""
    left = [inputs]
    while left:  # not by recursion: what was sent may be nested as deep as somebody likes
        value = left.pop()
        if isinstance(value, list):
            left += value
        elif isinstance(value, dict):
            left += value.values()
            meta = value.get("meta")
            is_file = isinstance(meta, dict) and meta.get("_type") == "gradio.FileData"
            if is_file and not is_in_or_equal(str(value.get("path", "")), get_upload_folder()):
                raise gr.Error("only a file that was uploaded here can be used", print_exception=False)


def _put(page: Page, pages: list[Page]) -> None:
    put_header(page, pages)
    page.wire(page.layout())
