"""Who may sign in: accounts, sessions, invitations, and the tries that failed. Tokens come here as hashes only."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, Table, bindparam, delete, exists, func, insert, or_, select, update

from storage.raters import add_if_absent
from storage.schema import accounts, events, invitations, sessions, sign_in_tries
from storage.trail import record_event


@dataclass(frozen=True, slots=True)
class Account:
    """Somebody who may use the pages, as their role allows."""

    name: str
    role: str
    created: datetime
    disabled: datetime | None
    password: str | None  # its hash


@dataclass(frozen=True, slots=True)
class Person:
    """An account as somebody who manages accounts sees it; nothing in it lets anybody in."""

    name: str
    role: str
    created: datetime
    disabled: datetime | None
    has_password: bool
    sessions: int  # that are open now
    last_sign_in: datetime | None
    invited_until: datetime | None  # when the link that was sent last runs out, or ran out
    invitation_used: datetime | None


_COLUMNS = [accounts.c[name] for name in Account.__dataclass_fields__]
_ALL = select(*_COLUMNS).order_by(accounts.c.name)
_ONE = select(*_COLUMNS).where(accounts.c.name == bindparam("wanted"))
_ANY = select(exists().where(accounts.c.id.is_not(None)))
_ID = select(accounts.c.id).where(accounts.c.name == bindparam("wanted"))
_ADMINS = (
    select(accounts.c.name, accounts.c.password.is_not(None).label("has_password"))
    .where(accounts.c.role == "admin", accounts.c.disabled.is_(None))
    .with_for_update()
)
_WHOSE = events.c.details["account"].as_string()


def _latest(kind: str) -> Any:
    """Return when something last happened to each account."""
    happened = select(_WHOSE.label("name"), func.max(events.c.created).label("at"))
    return happened.where(events.c.study_id.is_(None), events.c.kind == kind).group_by(_WHOSE).subquery()


_SIGNED_IN, _USED = _latest("sign_in"), _latest("invitation_used")
_OPEN = (
    select(func.count())
    .where(sessions.c.account_id == accounts.c.id, sessions.c.expires > bindparam("now"))
    .scalar_subquery()
)
_PEOPLE = (
    select(
        accounts.c.name,
        accounts.c.role,
        accounts.c.created,
        accounts.c.disabled,
        accounts.c.password.is_not(None).label("has_password"),
        _OPEN.label("sessions"),
        _SIGNED_IN.c.at.label("last_sign_in"),
        invitations.c.expires.label("invited_until"),
        _USED.c.at.label("invitation_used"),
    )
    .join(invitations, invitations.c.account_id == accounts.c.id, isouter=True)
    .join(_SIGNED_IN, _SIGNED_IN.c.name == accounts.c.name, isouter=True)
    .join(_USED, _USED.c.name == accounts.c.name, isouter=True)
    .order_by(accounts.c.name)
)


def _holder(table: Table) -> Any:
    """Return the account that a token is for, while both are good."""
    return (
        select(*_COLUMNS)
        .join(table, table.c.account_id == accounts.c.id)
        .where(table.c.hash == bindparam("token"), table.c.expires > bindparam("now"), accounts.c.disabled.is_(None))
    )


_IN_SESSION, _INVITED = _holder(sessions), _holder(invitations)


def any_account(connection: Connection) -> bool:
    """Say whether there is an account."""
    return bool(connection.execute(_ANY).scalar())


def list_accounts(connection: Connection) -> list[Account]:
    """Return every account, by name."""
    return [Account(*row) for row in connection.execute(_ALL)]


def list_people(connection: Connection, now: datetime) -> list[Person]:
    """Return every account with what came of its invitation and when it was last used, by name."""
    return [Person(**row._asdict()) for row in connection.execute(_PEOPLE, {"now": now})]


def list_admins(connection: Connection) -> dict[str, bool]:
    """Return the admins who are let in, and whether each has a password; nobody changes them until the write ends."""
    return {row.name: row.has_password for row in connection.execute(_ADMINS)}


def find_account(connection: Connection, name: str) -> Account | None:
    """Return the account of this name, if there is one."""
    return _account(connection.execute(_ONE, {"wanted": name}).first())


def in_session(connection: Connection, token: str, now: datetime) -> Account | None:
    """Return whose session this is, if it has not ended."""
    return _account(connection.execute(_IN_SESSION, {"token": token, "now": now}).first())


def invited(connection: Connection, token: str, now: datetime) -> Account | None:
    """Return whom an invitation is for, if it is still good."""
    return _account(connection.execute(_INVITED, {"token": token, "now": now}).first())


def add_account(connection: Connection, account: Account, by: str) -> bool:
    """Store a new account; say False when the name is taken."""
    if find_account(connection, account.name) is not None:
        return False
    values = {name: getattr(account, name) for name in Account.__dataclass_fields__}
    add_if_absent(connection, accounts, **values)
    record_event(connection, "account_added", account.created, account=account.name, role=account.role, by=by)
    return True


def set_password(connection: Connection, name: str, password: str) -> None:
    """Give an account another password, as a hash; whoever is signed in with the old one no longer is."""
    connection.execute(update(accounts).where(accounts.c.name == name).values(password=password))
    _end_all(connection, sessions, name)


def disable(connection: Connection, name: str, now: datetime, by: str) -> None:
    """Let an account in no more, and end what is open of it."""
    connection.execute(update(accounts).where(accounts.c.name == name).values(disabled=now))
    for table in (sessions, invitations):
        _end_all(connection, table, name)
    record_event(connection, "account_disabled", now, account=name, by=by)


def enable(connection: Connection, name: str, now: datetime, by: str) -> None:
    """Let an account in again, with the password it had."""
    connection.execute(update(accounts).where(accounts.c.name == name).values(disabled=None))
    record_event(connection, "account_enabled", now, account=name, by=by)


def change_role(connection: Connection, name: str, role: str, now: datetime, by: str) -> None:
    """Give an account another role, which counts from the next request on."""
    before = connection.execute(select(accounts.c.role).where(accounts.c.name == name)).scalar_one()
    connection.execute(update(accounts).where(accounts.c.name == name).values(role=role))
    record_event(connection, "role_changed", now, account=name, before=before, after=role, by=by)


def end_sessions(connection: Connection, name: str, now: datetime, by: str) -> int:
    """Sign an account out everywhere and return how many sessions that were."""
    ended = _end_all(connection, sessions, name)
    record_event(connection, "sessions_ended", now, account=name, sessions=ended, by=by)
    return ended


def withdraw_invitation(connection: Connection, name: str, now: datetime, by: str) -> bool:
    """Let an account's link work no more; say False when there is none."""
    if not _end_all(connection, invitations, name):
        return False
    record_event(connection, "invitation_withdrawn", now, account=name, by=by)
    return True


def _end_all(connection: Connection, table: Table, name: str) -> int:
    mine = select(accounts.c.id).where(accounts.c.name == name).scalar_subquery()
    return connection.execute(delete(table).where(table.c.account_id == mine)).rowcount


def open_session(connection: Connection, name: str, token: str, now: datetime, expires: datetime) -> None:
    """Begin a session, and forget those that have run out."""
    connection.execute(delete(sessions).where(sessions.c.expires <= now))
    connection.execute(insert(sessions).values(**_token(connection, name, token, now), expires=expires))
    record_event(connection, "sign_in", now, account=name, by=name)


def end_session(connection: Connection, token: str, now: datetime) -> None:
    """End a session; nothing is wrong if there is none."""
    account = in_session(connection, token, now)
    connection.execute(delete(sessions).where(sessions.c.hash == token))
    if account is not None:
        record_event(connection, "sign_out", now, account=account.name, by=account.name)


def add_invitation(connection: Connection, name: str, token: str, life: tuple[datetime, datetime], by: str) -> None:
    """Keep a new invitation for an account, from one moment to another, instead of the older ones."""
    now, expires = life
    _end_all(connection, invitations, name)
    connection.execute(insert(invitations).values(**_token(connection, name, token, now), expires=expires))
    record_event(connection, "invited", now, account=name, by=by)


def take_invitation(connection: Connection, token: str, now: datetime) -> Account | None:
    """Use an invitation up and return whom it was for; only one of two at the same moment gets it."""
    account = invited(connection, token, now)
    taken = connection.execute(delete(invitations).where(invitations.c.hash == token))
    if account is None or not taken.rowcount:
        return None
    record_event(connection, "invitation_used", now, account=account.name, by=account.name)
    return account


def _token(connection: Connection, name: str, token: str, now: datetime) -> dict[str, Any]:
    number = connection.execute(_ID, {"wanted": name}).scalar_one()
    return {"hash": token, "account_id": number, "created": now}


def count_try(connection: Connection, name: str, address: str, now: datetime, since: datetime) -> tuple[int, int]:
    """Write a try down before its password is looked at; return how many there were for the name and the address."""
    window = now - since
    # Those from after now are from before the clock was put back, and would count until it is there again.
    old = or_(sign_in_tries.c.created < since, sign_in_tries.c.created > now + window)
    connection.execute(delete(sign_in_tries).where(old))
    connection.execute(insert(sign_in_tries).values(name=name, address=address, created=now))
    both = select(
        func.count().filter(sign_in_tries.c.name == name), func.count().filter(sign_in_tries.c.address == address)
    ).where(or_(sign_in_tries.c.name == name, sign_in_tries.c.address == address))
    row = connection.execute(both).one()
    return int(row[0]), int(row[1])


def forgive(connection: Connection, name: str) -> None:
    """Forget the tries for a name: the right password was given."""
    connection.execute(delete(sign_in_tries).where(sign_in_tries.c.name == name))


def refuse_try(connection: Connection, kind: str, name: str | None, address: str, now: datetime) -> None:
    """Write down that somebody was not let in; a name that no account has may be a password in the wrong box."""
    record_event(connection, kind, now, account=name, address=address, by="")


def _account(row: Row[Any] | None) -> Account | None:
    return Account(**row._asdict()) if row is not None else None
