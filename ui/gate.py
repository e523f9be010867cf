"""The gate before every page and door: who asks, whether their role may, and what a browser may do with the answer."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, cookie_parser
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from exchange.accounts import Accounts, may
from judge.domain import StorageError
from storage.accounts import Account
from ui.file_names import checked
from ui.front import Front, peer_of
from ui.logs import FAULTS, logged

COOKIE = "accord_session"
USER = "accord.user"  # where the gate leaves the name of who asks
MEGABYTE = 1_000_000
# The uploads' own limit is gradio's (`max_file_size`); this one also holds for what is not a file.
LARGEST_UPLOAD, LARGEST_BODY = 22 * MEGABYTE, 4 * MEGABYTE
LONGEST_NUMBER = 18  # digits

# Gradio's pages start from inline scripts and make functions of texts, so both have to be allowed; no other host is.
POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; media-src 'self' data: blob:; "
    "worker-src 'self' blob:; frame-src 'none'; object-src 'none'; base-uri 'self'; form-action 'self'; "
    "frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cross-Origin-Opener-Policy": "same-origin",
}
# Gradio names these files by what is in them, so that a browser need never ask for one again; the fonts seldom change.
KEPT = {"/assets/": "public, max-age=31536000, immutable", "/static/fonts/": "public, max-age=86400"}
API = "/gradio_api/"
UPLOAD = f"{API}upload"
DATA = (API, "/config")  # what another site's page may not even read
OPEN = ("/health", "/login")
OPEN_UNDER = ("/invite/", "/assets/", "/static/")  # the last two hold gradio's own files, the same in every copy
# What gradio opens and no page of ours uses: fetching for others, editing code, recording, counting.
CLOSED = (
    *(
        API + door
        for door in ("proxy=", "runs", "run-history", "deep_link", "vibe", "undo-vibe", "process_recording", "dev/")
    ),
    *(API + door for door in ("profiling", "token", "component_server", "custom_component", "stream/", "openapi.json")),
    *("/monitoring", "/openapi.json", "/docs", "/redoc", "/pwa_icon", "/svelte/"),
)
# All that an annotator's page asks for; everything else is for leads.
FOR_ANNOTATORS = ("/", "/config", "/theme.css", "/logout", "/robots.txt", "/manifest.json", "/favicon.ico")
DOORS_FOR_ANNOTATORS = tuple(
    API + door
    for door in ("run/", "api/", "call/", "queue/", "info", "heartbeat/", "startup-events", "reset", "cancel",
                 "login_check", "user", "app_id", "theme.css")
)  # fmt: skip

FOR_ADMINS = ("/users",)
BEYOND_ROLE = "your account may not do this: ask a lead of the study"
FAULT = "something went wrong in Accord: whoever runs the server finds it in the log"


class Gate:
    """Asks of every request who sends it, and refuses what their role may not; adds the headers to every answer."""

    def __init__(self, app: ASGIApp, accounts: Accounts, front: Front) -> None:
        self.app = app
        self.accounts = accounts
        self.front = front
        self.log = False  # whether a line is written for each request

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or let it through."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            scope["path"] = self.front.own_path(scope["path"])  # every rule below is about this one
            if self.log:
                send = logged(scope, send, lambda: str(scope.get(USER, "")))
            try:
                refusal = await self._refusal(scope)
            except StorageError as error:
                refusal = unusable(Headers(scope=scope), error)
            if not refusal and scope["method"] == "POST" and scope["path"].rstrip("/") == UPLOAD:
                receive = checked(Headers(scope=scope), receive)
            try:
                await (refusal or self.app)(scope, receive, _with_headers(send, scope["path"]))
            except ClientDisconnect:
                raise
            except Exception:
                FAULTS.exception("a request broke")
                raise

    async def _refusal(self, scope: Scope) -> Response | None:
        headers, path = Headers(scope=scope), scope["path"]
        scope[USER] = ""
        if closed := self._closed(headers, path):
            return closed
        changes = scope["method"] not in ("GET", "HEAD", "OPTIONS")
        if wrong := _wrong_body(headers, path, needed=changes):
            return wrong
        if (changes or path.startswith(DATA)) and _is_foreign(headers):
            return _FOREIGN if changes else _FOREIGN_READER
        if path in OPEN or path.startswith(OPEN_UNDER):
            return None
        return await asyncio.to_thread(self._unknown_or_beyond, scope, headers)

    def _unknown_or_beyond(self, scope: Scope, headers: Headers) -> Response | None:
        """Find out who asks, and refuse whoever has to sign in first or may not come here."""
        if not self.accounts.needed():
            return None
        account = self._account(scope, headers)
        if account is None:
            return self._sign_in_first(scope, headers)
        scope[USER] = account.name
        why = _beyond(account.role, scope["path"])
        return refused(HTTPStatus.FORBIDDEN, why) if why else None

    def _closed(self, headers: Headers, path: str) -> Response | None:
        if not self.front.hosts.include(headers.get("host", "")):
            return refused(
                HTTPStatus.MISDIRECTED_REQUEST, "this is not served here: ACCORD_HOSTS lists the names that are"
            )
        return refused(HTTPStatus.NOT_FOUND, "there is nothing here") if path.startswith(CLOSED) else None

    def _account(self, scope: Scope, headers: Headers) -> Account | None:
        proxy = self.front.proxy
        if proxy and proxy.trusts(peer_of(scope)):
            names = headers.getlist(proxy.header)
            if names:  # one that was sent twice may be one that somebody tried to slip in
                return self.accounts.find(_decoded(names[0])) if len(names) == 1 else None
        token = session_token(headers)
        return self.accounts.who(token) if token else None

    def _sign_in_first(self, scope: Scope, headers: Headers) -> Response:
        if scope["method"] == "GET" and _is_for_reading(headers):
            query = scope["query_string"].decode("latin-1")
            wanted = quote(scope["path"] + (f"?{query}" if query else ""), safe="")
            return RedirectResponse(f"{self.front.root}/login?next={wanted}", HTTPStatus.SEE_OTHER)
        return refused(HTTPStatus.UNAUTHORIZED, "sign in first")


def _beyond(role: str, path: str) -> str:
    """Return why a role may not open a path; empty when it may."""
    if path.rstrip("/") in FOR_ADMINS and not may(role, "admin"):
        return "this is for admins: they say who may sign in"
    if path in FOR_ANNOTATORS or path.startswith(DOORS_FOR_ANNOTATORS) or may(role, "lead"):
        return ""
    return "this is for leads of a study: your account may only review"


def unusable(headers: Headers, error: StorageError) -> Response:
    """Say that the database cannot be used for the moment: as a sentence to a person, as JSON to a script."""
    after = {"Retry-After": "5"}
    if _is_for_reading(headers):
        return PlainTextResponse(f"Accord: {error}", HTTPStatus.SERVICE_UNAVAILABLE, after)
    return JSONResponse({"error": str(error)}, HTTPStatus.SERVICE_UNAVAILABLE, after)


def _is_for_reading(headers: Headers) -> bool:
    return "text/html" in headers.get("accept", "")


def session_token(headers: Headers) -> str:
    """Return the token that the browser sent, if it sent one."""
    return cookie_parser(headers.get("cookie", "")).get(COOKIE, "")


def _decoded(name: str) -> str:
    # Headers are read as Latin-1; a proxy writes names in UTF-8.
    try:
        return name.encode("latin-1").decode()
    except UnicodeError:
        return name


def _wrong_body(headers: Headers, path: str, *, needed: bool) -> Response | None:
    """Refuse a body that is too large, or of a size nobody knows; the server reads no more of it than was said."""
    length = headers.get("content-length", "" if needed else "0")
    if "transfer-encoding" in headers or not length.isdecimal():
        return refused(HTTPStatus.LENGTH_REQUIRED, "send a Content-Length")
    limit = LARGEST_UPLOAD if path.rstrip("/") == UPLOAD else LARGEST_BODY
    digits = length.lstrip("0")
    if len(digits) > LONGEST_NUMBER or int(digits or "0") > limit:
        return refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"at most {limit // MEGABYTE} MB can be sent")
    return None


def _is_foreign(headers: Headers) -> bool:
    """Say whether another site's page makes the browser send this: it may change nothing here."""
    fetched = headers.get("sec-fetch-site")
    if fetched is not None:
        return fetched not in ("same-origin", "none")
    origin = headers.get("origin")
    own = (headers.get("host"), headers.get("x-forwarded-host"))
    return origin is not None and urlsplit(origin).netloc not in own


def refused(status: HTTPStatus, why: str | None) -> Response:
    """Return an answer that tells a script why not."""
    return JSONResponse({"error": why}, status)


_FOREIGN = refused(HTTPStatus.FORBIDDEN, "another site may change nothing here")
_FOREIGN_READER = refused(HTTPStatus.FORBIDDEN, "another site may read nothing here")


def _with_headers(send: Send, path: str) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name in [name for name in headers if name.startswith("access-control-")]:
                del headers[name]  # gradio lets a page of any site read what a visitor may
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
            for start, how_long in KEPT.items():
                if path.startswith(start) and message["status"] == HTTPStatus.OK:
                    headers["Cache-Control"] = how_long
        await send(message)

    return sending


def name_of(request: Any) -> str:
    """Return the name of who asks, as gradio wants to know it; empty when nobody has to sign in."""
    return str(request.scope.get(USER, ""))
