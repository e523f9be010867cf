"""The commands about accounts: who may sign in, and as what."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from judge.domain import InputError
from terminal import DEFAULT_DATABASE, AsJson, DatabaseUrl, clear_errors, opened, write

users = typer.Typer(no_args_is_help=True, help="Who may sign in. With the first account, everybody has to.")
RoleName = Annotated[
    str, typer.Option("--role", help="annotator: Review only; lead: also studies, judges, settings; admin: everything.")
]
AccountName = Annotated[str, typer.Argument(metavar="NAME", help="The account's name; verdicts are given under it.")]
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
        Accounts(store).add(name, as_role(role), _password(password_stdin))
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
            accounts.add(name, as_role(role))
        token = accounts.invite(name)
    write(f"{address.rstrip('/')}/invite/{token}\n")


@users.command("list")
def list_(as_json: AsJson = False, database: DatabaseUrl = DEFAULT_DATABASE) -> None:
    """List the accounts."""
    from exchange.accounts import Accounts

    with clear_errors(), opened(database) as store:
        known = Accounts(store).list()
    if as_json:
        rows = [
            {"name": each.name, "role": each.role, "created": each.created.isoformat(), "disabled": bool(each.disabled)}
            for each in known
        ]
        write(json.dumps(rows, ensure_ascii=False, indent=1) + "\n")
        return
    for each in known:
        write(f"{each.role:<9}  {each.name}{'  (disabled)' if each.disabled else ''}\n")


@users.command()
def disable(name: AccountName, database: DatabaseUrl = DEFAULT_DATABASE) -> None:
    """Let an account in no more and end its sessions; its verdicts stay."""
    from exchange.accounts import Accounts

    with clear_errors(), opened(database) as store:
        Accounts(store).disable(name)
    write(f"{name} may no longer sign in\n")
