"""The small pages before the others: signing in and out, and taking an invitation. They need no script."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from http import HTTPStatus
from urllib.parse import quote

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, RedirectResponse, Response

from exchange.accounts import SESSION, SHORTEST_PASSWORD, Accounts, TooManyTriesError
from judge.domain import InputError
from ui.display import escape
from ui.front import Front
from ui.gate import COOKIE, session_token

# Stricter than for the other pages: nothing here needs a script.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 22rem; margin: 12vh auto; padding: 0 1rem; }
label { display: block; margin: 1rem 0; }
input, button { font: inherit; width: 100%; box-sizing: border-box; padding: .5rem; margin-top: .25rem; }
[role=alert] { border-left: 4px solid #b91c1c; padding-left: .75rem; }
"""


def sign_in_routes(accounts: Accounts, front: Front) -> APIRouter:
    """Return the pages for signing in, out, and for invitations."""
    root, router = front.root, APIRouter(include_in_schema=False)

    @router.get("/login")
    def show_sign_in(next: str = "/") -> Response:  # noqa: A002
        return _sign_in_page(root, next)

    @router.post("/login")
    async def sign_in(request: Request, next: str = "/") -> Response:  # noqa: A002
        form = await request.form()
        name, password = str(form.get("name", "")).strip(), str(form.get("password", ""))
        address = front.address_of(request.scope)
        return await run_in_threadpool(
            _let_in,
            request,
            f"{root}{_own_path(next)}",
            lambda: accounts.sign_in(name, password, address),
            lambda problem: _sign_in_page(root, next, problem),
        )

    @router.get("/logout")
    def ask_sign_out() -> Response:  # gradio has a page of this name, after which one is still signed in
        return _page('<h1>Accord</h1><form method="post"><button>Sign out</button></form>')

    @router.post("/logout")
    def sign_out(request: Request) -> Response:
        token = session_token(request.headers)
        if token:
            accounts.sign_out(token)
        answer = RedirectResponse(f"{root}/login", HTTPStatus.SEE_OTHER)
        answer.delete_cookie(COOKIE, path="/")
        return answer

    @router.get("/invite/{token}")
    def show_invitation(token: str) -> Response:
        account = accounts.invited(token)
        if account is None:
            return _page("<p role='alert'>This invitation was used or has run out. Ask for another.</p>", 404)
        return _invitation_page(account.name)

    @router.post("/invite/{token}")
    async def accept(request: Request, token: str) -> Response:
        password = str((await request.form()).get("password", ""))
        address = front.address_of(request.scope)
        return await run_in_threadpool(
            _let_in,
            request,
            f"{root}/",
            lambda: accounts.accept(token, password, address),
            lambda problem: _invitation_page(None, problem),
        )

    return router


def _let_in(request: Request, onward: str, work: Callable[[], str], again: Callable[[str], Response]) -> Response:
    """Begin a session and send its holder on, or show the page again with what is wrong."""
    try:
        token = work()
    except InputError as error:
        answer = again(str(error))
        many = isinstance(error, TooManyTriesError)
        answer.status_code = HTTPStatus.TOO_MANY_REQUESTS if many else HTTPStatus.FORBIDDEN
        return answer
    sent = RedirectResponse(onward, HTTPStatus.SEE_OTHER)
    secure = "https" in (request.url.scheme, request.headers.get("x-forwarded-proto"))
    length = int(SESSION / timedelta(seconds=1))
    sent.set_cookie(COOKIE, token, max_age=length, path="/", secure=secure, httponly=True, samesite="lax")
    return sent


def _own_path(wanted: str) -> str:
    """Return a path of ours, whatever somebody wrote into a link."""
    ours = wanted.startswith("/") and not wanted.startswith(("//", "/\\")) and wanted.isprintable()
    return wanted if ours else "/"


def _sign_in_page(root: str, wanted: str, problem: str = "") -> Response:
    return _page(
        f'<h1>Accord</h1>{_alert(problem)}<form method="post" action="{escape(root)}/login?next={quote(wanted)}">'
        '<label>Name<input name="name" autocomplete="username" required autofocus></label>'
        '<label>Password<input name="password" type="password" autocomplete="current-password" required></label>'
        "<button>Sign in</button></form><p>There is no registration: an admin invites you.</p>"
    )


def _invitation_page(name: str | None, problem: str = "") -> Response:
    welcome = f"<p>Welcome, <b>{escape(name)}</b>. Choose a password.</p>" if name else ""
    return _page(
        f'<h1>Accord</h1>{_alert(problem)}{welcome}<form method="post">'
        f'<label>Password, at least {SHORTEST_PASSWORD} characters<input name="password" type="password" '
        f'autocomplete="new-password" minlength="{SHORTEST_PASSWORD}" required autofocus></label>'
        "<button>Begin</button></form>"
    )


def _alert(problem: str) -> str:
    return f'<p role="alert">{escape(problem)}</p>' if problem else ""


def _page(body: str, status: int = 200) -> Response:
    head = '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    made = HTMLResponse(f"{head}<title>Accord</title><style>{STYLE}</style><main>{body}</main></html>", status)
    made.headers.update({"Content-Security-Policy": POLICY, "Cache-Control": "no-store"})
    return made
