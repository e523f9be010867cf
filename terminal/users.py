"""The commands about accounts: who may sign in, as what, and who did what."""

from __future__ import annotations

import json
import sys
from datetime import datetime
from typing import Annotated

import typer

from judge.domain import InputError
from terminal.command import BY, DEFAULT_DATABASE, AsJson, DatabaseUrl, clear_errors, opened, write

users = typer.Typer(no_args_is_help=True, help="Who may sign in. With the first account, everybody has to.")
RoleName = Annotated[
    str, typer.Option("--role", help="annotator: Review only; lead: also studies, judges, settings; admin: everything.")
]
AccountName = Annotated[str, typer.Argument(metavar="NAME", help="The account's name; verdicts are given under it.")]
GROUPS = "sign-ins, accounts, exports, studies, judges or annotators; by default all."
FromStdin = Annotated[bool, typer.Option("--password-stdin", help="Read the password from standard input.")]


def _password(from_stdin: bool) -> str:
    if from_stdin:
        return sys.stdin.readline().rstrip("\r\n")
    if not sys.stdin.isatty():
        raise InputError("there is nobody to ask for a password: add --password-stdin, or use `users invite`")
    return str(typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True))


@users.command()
def add(
    name: AccountName, role: RoleName, password_stdin: FromStdin = False, database: DatabaseUrl = DEFAULT_DATABASE
) -> None:
    """Add an account with a password."""
    from exchange.accounts import Accounts, as_role

    with clear_errors(), opened(database) as store:
        Accounts(store).add(name, as_role(role), _password(password_stdin), BY)
    write(f"{name} may sign in as {role}\n")


@users.command()
def invite(
    name: AccountName,
    role: RoleName = "annotator",
    address: Annotated[str, typer.Option(help="Where people reach Accord, to print the whole link.")] = "",
    database: DatabaseUrl = DEFAULT_DATABASE,
) -> None:
    """Print a link with which somebody chooses their password; it works once, for a week.

    For a name that has an account it is the way to a new password, and the role stays as it is.
    """
    from exchange.accounts import Accounts, as_role

    with clear_errors(), opened(database) as store:
        accounts = Accounts(store)
        if name not in {account.name for account in accounts.list()}:
            accounts.add(name, as_role(role), by=BY)
        token = accounts.invite(name, BY)
    write(f"{address.rstrip('/')}/invite/{token}\n")


@users.command()
def withdraw(name: AccountName, database: DatabaseUrl = DEFAULT_DATABASE) -> None:
    """Take an invitation back: the link that was sent works no more."""
    from exchange.accounts import Accounts

    with clear_errors(), opened(database) as store:
        Accounts(store).withdraw(name, BY)
    write(f"the link for {name} works no more\n")


@users.command("list")
def list_(as_json: AsJson = False, database: DatabaseUrl = DEFAULT_DATABASE) -> None:
    """List the accounts: role, name, when somebody last signed in with it."""
    from exchange.accounts import Accounts

    with clear_errors(), opened(database) as store:
        known = Accounts(store).people()
    if as_json:
        rows = [
            {
                "name": each.name,
                "role": each.role,
                "created": each.created.isoformat(),
                "disabled": bool(each.disabled),
                "last_sign_in": _moment(each.last_sign_in),
                "sessions": each.sessions,
                "invited_until": _moment(each.invited_until),
                "invitation_used": _moment(each.invitation_used),
            }
            for each in known
        ]
        write(json.dumps(rows, ensure_ascii=False, indent=1) + "\n")
        return
    for each in known:
        last = f"{each.last_sign_in:%Y-%m-%d %H:%M}" if each.last_sign_in else "never"
        write(f"{each.role:<9}  {last:<16}  {each.name}{'  (disabled)' if each.disabled else ''}\n")


def _moment(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None


@users.command()
def disable(name: AccountName, database: DatabaseUrl = DEFAULT_DATABASE) -> None:
    """Let an account in no more and end its sessions; its verdicts stay."""
    from exchange.accounts import Accounts

    with clear_errors(), opened(database) as store:
        Accounts(store).disable(name, BY)
    write(f"{name} may no longer sign in\n")


@users.command()
def enable(name: AccountName, database: DatabaseUrl = DEFAULT_DATABASE) -> None:
    """Let a disabled account in again, with the password it had."""
    from exchange.accounts import Accounts

    with clear_errors(), opened(database) as store:
        Accounts(store).enable(name, BY)
    write(f"{name} may sign in again\n")


@users.command()
def role(
    name: AccountName,
    wanted: Annotated[str, typer.Argument(metavar="ROLE", help="annotator, lead or admin.")],
    database: DatabaseUrl = DEFAULT_DATABASE,
) -> None:
    """Change an account's role; it counts at once, also for who is signed in."""
    from exchange.accounts import Accounts, as_role

    with clear_errors(), opened(database) as store:
        Accounts(store).change_role(name, as_role(wanted), BY)
    write(f"{name} is now {wanted}\n")


@users.command("sign-out")
def sign_out(name: AccountName, database: DatabaseUrl = DEFAULT_DATABASE) -> None:
    """End all sessions of an account, such as after a browser was left open; it may sign in again."""
    from exchange.accounts import Accounts

    with clear_errors(), opened(database) as store:
        ended = Accounts(store).end_sessions(name, BY)
    write(f"{ended} sessions of {name} have ended\n")


def audit(
    what: Annotated[str, typer.Option(help=f"Only these lines: {GROUPS}")] = "",
    who: Annotated[str, typer.Option(metavar="NAME", help="Only what this account or annotator did.")] = "",
    study: Annotated[str, typer.Option(metavar="NAME", help="Only what was done to this study.")] = "",
    most: Annotated[int, typer.Option("--limit", help="How many lines, the newest first.", min=1)] = 100,
    before: Annotated[int | None, typer.Option(metavar="ID", help="Only lines older than the one of this id.")] = None,
    as_json: AsJson = False,
    database: DatabaseUrl = DEFAULT_DATABASE,
) -> None:
    """Show who signed in, or failed to, and who exported or changed what; the newest first, times in UTC.

    Example: `python app.py audit --what exports --json`
    """
    from exchange import trail
    from storage.trail import TrailSearch

    with clear_errors(), opened(database) as store:
        found = store.trail(TrailSearch(trail.kinds_of(what), who, study), before, most)
    if as_json:
        write(json.dumps([trail.as_json(entry) for entry in found], ensure_ascii=False, indent=1) + "\n")
        return
    width = max([len(entry.who) for entry in found] + [1])
    for entry in found:
        where = f" [{entry.study}]" if entry.study else ""
        line = f"{entry.at:%Y-%m-%d %H:%M:%S}  {entry.who or '-':<{width}}  {trail.tell(entry)}{where}"
        # What somebody typed must not move the terminal's cursor.
        write("".join(letter if letter.isprintable() else "?" for letter in line) + "\n")
