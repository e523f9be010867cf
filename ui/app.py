"""The app as one object, in which every event asks whose it is."""

from __future__ import annotations

import asyncio
from typing import Any

import gradio as gr
from gradio.utils import get_upload_folder, is_in_or_equal

from exchange.accounts import Accounts
from exchange.background import Runs
from exchange.endpoints import Endpoints
from judge.domain import StorageError
from storage.store import Store
from ui.agreement import Agreement
from ui.examples import list_examples
from ui.judges import Judges
from ui.page import Page, Settings, open_door, put_header
from ui.playground import Playground
from ui.review import Review
from ui.settings import SettingsPage
from ui.studies import Studies

SESSIONS = 500  # open pages that Gradio keeps a state of, 0.4 MB each; a page beyond them begins anew


class Guarded(gr.Blocks):  # type: ignore[misc]
    """Pages of which every event checks the role of who sends it, whichever way it came in.

    Gradio runs any event by its number, on a page or not, private or not; all ways lead through one method.
    """

    accounts: Accounts
    for_annotators: frozenset[int] = frozenset()  # the numbers of the events that are not for leads alone

    async def process_api(self, block_fn: Any, inputs: list[Any], *rest: Any, **named: Any) -> dict[str, Any]:
        """Run an event, if who asks for it may."""
        number = block_fn if isinstance(block_fn, int) else block_fn._id  # noqa: SLF001
        known = self.fns.get(number)
        open_to_all = number in self.for_annotators and (isinstance(block_fn, int) or known is block_fn)
        request = named.get("request")
        asking = request[0] if isinstance(request, list) and request else request
        name = getattr(asking, "username", None)
        _check_files(inputs)
        try:
            if not await asyncio.to_thread(self.accounts.allows, name, "annotator" if open_to_all else "lead"):
                raise gr.Error("your account may not do this: ask a lead of the study", print_exception=False)
            return dict(await super().process_api(block_fn, inputs, *rest, **named))
        except StorageError as error:  # it can meet any event, so no handler has to think of it
            raise gr.Error(str(error), print_exception=False) from error


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
    ]

    def list_studies() -> list[str]:
        return [study.name for study in store.studies()]

    def open_pages(request: gr.Request) -> list[str]:
        lead = accounts.allows(request.username, "lead")
        return [page.path for page in pages if lead or page is pages[0]]

    # Files that were sent or fetched are gone from the server a day later.
    with Guarded(title="Accord", analytics_enabled=False, fill_width=True, delete_cache=(3600, 86400)) as blocks:
        open_door(list_studies, "list_studies")
        open_door(open_pages, "open_pages")
        _put(pages[0], pages)
    blocks.state_session_capacity = SESSIONS
    blocks.accounts = accounts
    blocks.for_annotators = frozenset(blocks.fns)
    for page in pages[1:]:
        with blocks.route(page.title, page.path, show_in_navbar=False):
            _put(page, pages)
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
