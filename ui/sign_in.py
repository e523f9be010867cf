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
from ui.notices import as_sentence
from ui.theme import ICON, LINK

# Stricter than for the other pages: nothing here needs a script.
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
STYLE = """
:root { color-scheme: light dark; font: 16px/1.55 "IBM Plex Sans", system-ui, sans-serif;
  --line: #cbd5e1; --ink: #1f2937; --muted: #5b6472; --ground: #fff; --problem: #b3261e; --problem-tint: #fdecea; }
@media (prefers-color-scheme: dark) {
  :root { --line: #334155; --ink: #f3f4f6; --muted: #a3adbb; --ground: #0b0f19; --problem: #ff9d94;
    --problem-tint: #3f1d1a; }
}
body { margin: 0; background: var(--ground); color: var(--ink); }
main { max-width: 22rem; margin: 16vh auto 0; padding: 0 1rem; }
h1 { display: flex; align-items: center; gap: .5rem; margin: 0 0 1.5rem; font-size: 1.25rem; }
label { display: block; margin: 1rem 0; font-size: .875rem; font-weight: 700; }
input, button { font: inherit; width: 100%; box-sizing: border-box; min-height: 44px; padding: 0 .75rem;
  margin-top: .25rem; border: 1px solid var(--line); border-radius: 8px; background: var(--ground); color: inherit; }
button { margin-top: .5rem; border: 0; background: #1d51a6; color: #fff; font-weight: 700; cursor: pointer; }
:focus-visible { outline: 2px solid #2f6fd6; outline-offset: 1px; }
form + p { color: var(--muted); font-size: .875rem; }
[role=alert] { margin: 0 0 1rem; padding: .75rem 1rem; border-left: 4px solid var(--problem); border-radius: 8px;
  background: var(--problem-tint); overflow-wrap: anywhere; }
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
        return _page("Sign out", '<form method="post"><button>Sign out</button></form>')

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
            return _page("Invitation", _alert("This invitation was used or has run out. Ask for another."), 404)
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
        "Sign in",
        f'{_alert(problem)}<form method="post" action="{escape(root)}/login?next={quote(wanted)}">'
        '<label>Name<input name="name" autocomplete="username" required autofocus></label>'
        '<label>Password<input name="password" type="password" autocomplete="current-password" required></label>'
        "<button>Sign in</button></form><p>There is no registration: an admin invites you.</p>",
    )


def _invitation_page(name: str | None, problem: str = "") -> Response:
    welcome = f"<p>Welcome, <b>{escape(name)}</b>. Choose a password.</p>" if name else ""
    return _page(
        "Invitation",
        f'{_alert(problem)}{welcome}<form method="post">'
        f'<label>Password, at least {SHORTEST_PASSWORD} characters<input name="password" type="password" '
        f'autocomplete="new-password" minlength="{SHORTEST_PASSWORD}" required autofocus></label>'
        "<button>Begin</button></form>",
    )


def _alert(problem: str) -> str:
    return f'<p role="alert">{escape(as_sentence(problem))}</p>' if problem else ""


def _page(title: str, body: str, status: int = 200) -> Response:
    head = '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    brand = f"<h1>{ICON.read_text('utf-8')}Accord</h1>"
    made = HTMLResponse(
        f"{head}<title>{title} · Accord</title>{LINK}<style>{STYLE}</style><main>{brand}{body}</main></html>", status
    )
    made.headers.update({"Content-Security-Policy": POLICY, "Cache-Control": "no-store"})
    return made
