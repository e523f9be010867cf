"""The page for admins: who may sign in and as what, links that let people in, and what has been done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import gradio as gr

from exchange.accounts import INVITATION, ROLES, Accounts, as_role
from judge.domain import LONGEST_NAME, AccordError, InputError
from storage.accounts import Person
from ui.display import escape
from ui.items import SCRIPT
from ui.notices import count, show_address, show_failure, show_hint, show_moment, show_success, show_table
from ui.page import INSTANT, on_load, signed_in
from ui.trail import TrailControls, TrailPanel

MAY = {
    "annotator": "Annotator: review only",
    "lead": "Lead: also studies, judges, agreement, settings",
    "admin": "Admin: also accounts and the trail",
}
NOBODY = (
    "Nobody signs in here. To let people in only by name, make the first admin on the command line "
    "with python app.py users add NAME --role admin; from then on everybody has to sign in."
)


@dataclass(frozen=True, slots=True)
class Controls:
    """The components of the page that take part in an event."""

    told: gr.HTML
    name: gr.Textbox
    role: gr.Dropdown
    invite: gr.Button
    people: gr.HTML
    trail: TrailControls


class Users:
    """The page's handlers; every piece of work is one of the accounts', as it is for the command line."""

    title = "Users"
    path = "/users"

    def __init__(self, accounts: Accounts) -> None:
        self.accounts = accounts
        self.trail = TrailPanel(accounts.store)

    def layout(self) -> Controls:
        """Put the components on the page; who is in the table is filled in when it is opened."""
        with gr.Column(elem_classes="studies", elem_id="users"), gr.Tabs():
            with gr.Tab("Accounts"):
                told, name, role, invite, people = self._accounts_layout()
            with gr.Tab("Trail"):
                trail = self.trail.layout()
        return Controls(told, name, role, invite, people, trail)

    @staticmethod
    def _accounts_layout() -> tuple[gr.HTML, gr.Textbox, gr.Dropdown, gr.Button, gr.HTML]:
        told = gr.HTML("", apply_default_css=False, js_on_load=SCRIPT, elem_id="users-told")
        with gr.Row(elem_classes="setting"):
            name = gr.Textbox(
                label="Invite somebody: name",
                info="They sign in with it, and their verdicts are given under it.",
                max_length=LONGEST_NAME,
                max_lines=1,
                elem_id="invite-name",
            )
            role = gr.Dropdown(
                [(MAY[role], role) for role in ROLES],
                value="annotator",
                label="Role",
                info="What the account may do; it can be changed later.",
                filterable=False,
                elem_id="invite-role",
            )
            invite = gr.Button("Make an invitation", variant="primary", scale=0, min_width=200)
        people = gr.HTML("", apply_default_css=False, js_on_load=SCRIPT, elem_id="accounts")
        return told, name, role, invite, people

    def wire(self, on: Controls) -> None:
        """Connect the form and the buttons in the table."""
        self.trail.wire(on.trail)
        on_load(self.open, [on.people, on.trail.lines])
        invited = [on.told, on.people, on.name]
        on.invite.click(self.invite, [on.name, on.role], invited, **INSTANT)
        on.name.submit(self.invite, [on.name, on.role], invited, **INSTANT)
        on.people.act(self.act, None, [on.told, on.people], **INSTANT)

    def open(self, request: gr.Request) -> tuple[str, str]:
        """Return everybody who has an account, and the newest lines of the trail."""
        return self.show(signed_in(request)), self.trail.search("", "")

    def show(self, who: str) -> str:
        """Return the table of accounts as one of them sees it."""
        if not self.accounts.needed():
            return show_hint(NOBODY)
        return show_people(self.accounts.people(), who, self.accounts.store.clock())

    def invite(self, request: gr.Request, name: str | None, role: str) -> tuple[str, str, Any]:
        """Make an account for somebody new, and the link with which they choose a password."""
        by, wanted = signed_in(request), (name or "").strip()

        def work() -> str:
            self.accounts.add(wanted, as_role(role), by=by)
            return show_invitation(wanted, self.accounts.invite(wanted, by))

        told, people = self._do(by, work)
        return told, people, gr.skip() if "problem" in told else ""

    def act(self, request: gr.Request, event: gr.EventData) -> tuple[str, str]:
        """Do what a button in the table asks."""
        what, name, by = str(event.what), str(event.name), signed_in(request)
        role = str(getattr(event, "role", None) or "")

        def work() -> str:
            if what == "link":
                return show_invitation(name, self.accounts.invite(name, by))
            if what == "withdraw":
                self.accounts.withdraw(name, by)
                return show_success(f"the link for {name} works no more")
            if what == "role":
                self.accounts.change_role(name, as_role(role), by)
                return show_success(f"{name} is now {role}; it counts from their next click on")
            if what == "end":
                ended = self.accounts.end_sessions(name, by)
                return show_success(f"{count(ended, 'session')} of {name} ended; they may sign in again")
            if what == "disable":
                self.accounts.disable(name, by)
                return show_success(f"{name} can no longer sign in; their verdicts stay")
            if what == "enable":
                self.accounts.enable(name, by)
                return show_success(f"{name} can sign in again, with the password they had")
            raise InputError(f"{what!r} is not something that can be done here")

        return self._do(by, work)

    def _do(self, who: str, work: Callable[[], str]) -> tuple[str, str]:
        try:
            if not self.accounts.needed():
                raise InputError(NOBODY)
            return work(), self.show(who)
        except AccordError as error:
            return show_failure(str(error)), self.show(who)


def show_invitation(name: str, token: str) -> str:
    """Return the link that lets somebody in, to be copied: it is shown this once."""
    return (
        f'<div class="notice done links" role="status" data-copied><p><strong>Send this link to '
        f"<bdi>{escape(name)}</bdi>.</strong> With it they choose a password. It works once, for "
        f"{INVITATION.days} days, and is shown only now: whoever has it can use it.</p>"
        f"{show_address(f'/invite/{token}')}"
        f'<button type="button" class="copy" aria-label="Copy the link: {escape(name)}">Copy</button></div>'
    )


def show_people(people: Sequence[Person], who: str, now: datetime) -> str:
    """Return everybody who has an account, with what can be done about each."""
    heads = [
        ("Name", "Verdicts are given under it"),
        ("Role", "What the account may do"),
        ("State", "Whether somebody can sign in with it"),
        ("Last sign-in", "In your own time zone"),
        ("Sessions", "Browsers that are signed in now"),
        ("Link", "The one-time link that was made last"),
        ("", ""),
    ]
    return show_table(heads, [_row(person, who, now) for person in people], "Accounts")


def _row(person: Person, who: str, now: datetime) -> list[str]:
    waiting = person.invited_until is not None and person.invited_until > now
    own = ' <span class="muted">(you)</span>' if person.name == who else ""
    return [
        f"<bdi>{escape(person.name)}</bdi>{own}",
        _role(person),
        _state(person),
        show_moment(person.last_sign_in),
        f"{person.sessions:,}",
        _invitation(person, waiting=waiting),
        f'<span class="actions">{_actions(person, waiting=waiting)}</span>',
    ]


def _role(person: Person) -> str:
    options = "".join(
        f'<option value="{role}"{" selected" if role == person.role else ""}>{role}</option>' for role in ROLES
    )
    return (
        f'<span class="actions"><select data-role="{escape(person.role)}" aria-label="Role of {escape(person.name)}">'
        f"{options}</select>{_button('role', 'Change', person.name, 'Change the role', hidden=True)}</span>"
    )


def _state(person: Person) -> str:
    if person.disabled:
        return '<span class="state closed">disabled</span>'
    if person.has_password:
        return '<span class="state">active</span>'
    return '<span class="state">no password yet</span>'


def _invitation(person: Person, *, waiting: bool) -> str:
    if person.invited_until:
        return f"<span>{'open until' if waiting else 'ran out'} {show_moment(person.invited_until)}</span>"
    used = f"<span>used {show_moment(person.invitation_used)}</span>"
    return used if person.invitation_used else '<span class="muted">–</span>'


def _actions(person: Person, *, waiting: bool) -> str:
    name = person.name
    if person.disabled:
        return _button("enable", "Enable", name)
    taken = _button("withdraw", "Take the link back", name) if waiting else ""
    ended = _button("end", "Sign out everywhere", name) if person.sessions else ""
    link = "New password link" if person.has_password else "New link"
    return _button("link", link, name) + taken + ended + _button("disable", "Disable", name)


def _button(what: str, words: str, name: str, told: str = "", *, hidden: bool = False) -> str:
    return (
        f'<button type="button" class="plain" data-do="{what}" data-name="{escape(name)}" '
        f'aria-label="{escape(told or words)}: {escape(name)}"{" hidden" if hidden else ""}>{escape(words)}</button>'
    )
