"""Signing in: passwords, sessions that end, invitations that work once, and who may do what."""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Literal, get_args

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from judge.domain import LONGEST_NAME, InputError, check_text
from storage import accounts
from storage.accounts import Account, Person
from storage.store import Store

Role = Literal["annotator", "lead", "admin"]
ROLES: tuple[Role, ...] = get_args(Role)
SESSION = timedelta(hours=12)
INVITATION = timedelta(days=7)
SHORTEST_PASSWORD, LONGEST_PASSWORD = 10, 1000
WINDOW = timedelta(minutes=15)
TRIES_FOR_A_NAME, TRIES_FROM_AN_ADDRESS = 10, 100
LOOK_AGAIN = 2.0  # seconds for which "nobody has an account" is believed
_HASHER = PasswordHasher()
# A password takes 64 MB and the whole of a processor to hash: a crowd at the door must not take the machine.
_HASHING, LONGEST_WAIT = threading.BoundedSemaphore(3), 20.0
_NO_INVITATION = "this invitation was used or has run out: ask for another"


class TooManyTriesError(InputError):
    """So many wrong passwords came that nobody is let in for a while."""


class Accounts:
    """The accounts in a store; with none of them, and unless it is demanded, nobody has to sign in."""

    def __init__(self, store: Store, demanded: bool = False) -> None:
        self.store = store
        self._on = demanded
        self._looked = float("-inf")
        # Verified when the name is unknown, so that the time taken does not tell which names there are.
        self._nobody = _HASHER.hash(secrets.token_hex())

    def needed(self) -> bool:
        """Say whether people have to sign in: from the first account on they always have to."""
        if not self._on and time.monotonic() - self._looked > LOOK_AGAIN:
            with self.store.reading() as connection:
                self._on = accounts.any_account(connection)
            self._looked = time.monotonic()
        return self._on

    def people(self) -> list[Person]:
        """Return every account with its invitation, its open sessions and when it was last used, by name."""
        with self.store.reading() as connection:
            return accounts.list_people(connection, self.store.clock())

    def list(self) -> list[Account]:
        """Return every account, by name."""
        with self.store.reading() as connection:
            return accounts.list_accounts(connection)

    def find(self, name: str) -> Account | None:
        """Return the account of this name, unless it is disabled."""
        with self.store.asking() as connection:
            account = accounts.find_account(connection, name)
        return account if account is not None and account.disabled is None else None

    def allows(self, name: str | None, least: Role) -> bool:
        """Say whether somebody may do what a role may; when nobody has to sign in, everybody may."""
        if not self.needed():
            return True
        account = self.find(name) if name else None
        return account is not None and may(account.role, least)

    def add(self, name: str, role: Role, password: str | None = None, by: str = "") -> Account:
        """Store a new account; without a password it is for an invitation, or for who signs in at a proxy."""
        if name != name.strip() or not name or len(name) > LONGEST_NAME or not name.isprintable():
            raise InputError(f"an account needs a name of 1 to {LONGEST_NAME} letters, without spaces around it")
        hashed = _hashed(password) if password is not None else None
        account = Account(name, role, self.store.clock(), None, hashed)
        with self.store.writing() as connection:
            if not accounts.add_account(connection, account, by):
                raise InputError(f"there is an account named {name!r} already")
        return account

    def disable(self, name: str, by: str = "") -> None:
        """Let an account in no more, and end its sessions at once."""
        self._known(name)
        with self.store.writing() as connection:
            _keep_an_admin(accounts.list_admins(connection), name)
            accounts.disable(connection, name, self.store.clock(), by)

    def enable(self, name: str, by: str = "") -> None:
        """Let an account in again."""
        self._known(name)
        with self.store.writing() as connection:
            accounts.enable(connection, name, self.store.clock(), by)

    def change_role(self, name: str, role: Role, by: str = "") -> None:
        """Give an account another role; whoever is signed in has it from the next click on."""
        self._known(name)
        with self.store.writing() as connection:
            if role != "admin":
                _keep_an_admin(accounts.list_admins(connection), name)
            accounts.change_role(connection, name, role, self.store.clock(), by)

    def end_sessions(self, name: str, by: str = "") -> int:
        """Sign somebody out everywhere, and return how many sessions that ended."""
        self._known(name)
        with self.store.writing() as connection:
            return accounts.end_sessions(connection, name, self.store.clock(), by)

    def invite(self, name: str, by: str = "") -> str:
        """Return the token of a link with which somebody chooses their password, once; older ones stop working."""
        if self._known(name).disabled is not None:
            raise InputError(f"{name!r} is disabled: enable the account first")
        token, now = secrets.token_urlsafe(32), self.store.clock()
        with self.store.writing() as connection:
            accounts.add_invitation(connection, name, _digest(token), (now, now + INVITATION), by)
        return token

    def withdraw(self, name: str, by: str = "") -> None:
        """Let the link that somebody was sent work no more."""
        self._known(name)
        with self.store.writing() as connection:
            if not accounts.withdraw_invitation(connection, name, self.store.clock(), by):
                raise InputError(f"there is no open invitation for {name!r}: it was used, or taken back already")

    def invited(self, token: str) -> Account | None:
        """Return whom an invitation is for, if it is still good."""
        with self.store.reading() as connection:
            return accounts.invited(connection, _digest(token), self.store.clock())

    def accept(self, token: str, password: str, address: str = "") -> str:
        """Use an invitation up: set the password, and return the token of a new session."""
        if self.invited(token) is None:  # before a password is hashed, which costs us more than a guess costs them
            self._count_try("", None, address)
            raise InputError(_NO_INVITATION)
        hashed = _hashed(password)
        with self.store.writing() as connection:
            account = accounts.take_invitation(connection, _digest(token), self.store.clock())
            if account is None:
                raise InputError(_NO_INVITATION)
            accounts.set_password(connection, account.name, hashed)
        return self._begin(account)

    def sign_in(self, name: str, password: str, address: str) -> str:
        """Return the token of a new session, or say why there is none; wrong names and passwords look the same."""
        check_text("a name", name, LONGEST_NAME)
        account = self.find(name)
        known = account.name if account else None
        self._count_try(name, known, address)
        right = account.password if account and account.password else None
        if not _matches(right or self._nobody, password) or account is None or right is None:
            self._refuse_try("sign_in_failed", known, address)
            raise InputError("name or password is wrong")
        with self.store.writing() as connection:
            accounts.forgive(connection, account.name)
        return self._begin(account)

    def _count_try(self, name: str, known: str | None, address: str) -> None:
        """Write a try down, and refuse it after too many; an invitation is tried under no name."""
        now = self.store.clock()
        with self.store.writing() as connection:
            for_name, from_address = accounts.count_try(connection, name, address, now, now - WINDOW)
        for_name = for_name if name else 0
        if for_name > TRIES_FOR_A_NAME or from_address > TRIES_FROM_AN_ADDRESS:
            # Only the first of them is written down: a flood of tries must not fill the trail.
            if for_name == TRIES_FOR_A_NAME + 1 or from_address == TRIES_FROM_AN_ADDRESS + 1:
                self._refuse_try("sign_in_blocked", known, address)
            raise TooManyTriesError("too many tries: wait a quarter of an hour, or ask for an invitation")

    def who(self, token: str) -> Account | None:
        """Return whose session this is, if it has not ended."""
        with self.store.asking() as connection:
            return accounts.in_session(connection, _digest(token), self.store.clock())

    def sign_out(self, token: str) -> None:
        """End a session."""
        with self.store.writing() as connection:
            accounts.end_session(connection, _digest(token), self.store.clock())

    def _begin(self, account: Account) -> str:
        token, now = secrets.token_urlsafe(32), self.store.clock()
        with self.store.writing() as connection:
            accounts.open_session(connection, account.name, _digest(token), now, now + SESSION)
        return token

    def _refuse_try(self, kind: str, name: str | None, address: str) -> None:
        with self.store.writing() as connection:
            accounts.refuse_try(connection, kind, name, address, self.store.clock())

    def _known(self, name: str) -> Account:
        with self.store.reading() as connection:
            account = accounts.find_account(connection, name)
        if account is None:
            raise InputError(f"there is no account named {name!r}: `python app.py users list` shows them")
        return account


def _keep_an_admin(admins: dict[str, bool], name: str) -> None:
    """Refuse to take the last admin's rights away; one without a password stands in only for one without."""
    left = [
        other for other, has_password in admins.items() if other != name and has_password >= admins.get(name, False)
    ]
    if name in admins and not left:
        raise InputError(f"{name!r} is the last admin who can sign in: make somebody else one first")


def as_role(word: str) -> Role:
    """Return a role by its name, or say which there are."""
    for role in ROLES:
        if role == word:
            return role
    raise InputError(f"{word!r} is not a role: {', '.join(ROLES)}")


def may(role: str, least: Role) -> bool:
    """Say whether a role includes another: an admin may do what a lead may, and a lead what an annotator may."""
    return role in ROLES and ROLES.index(role) >= ROLES.index(least)


@contextmanager
def _one_of_few() -> Iterator[None]:
    """Wait until few others are at their passwords."""
    if not _HASHING.acquire(timeout=LONGEST_WAIT):
        raise TooManyTriesError("too many people are at the door: try again in a moment")
    try:
        yield
    finally:
        _HASHING.release()


def _hashed(password: str) -> str:
    if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        raise InputError(f"a password has at least {SHORTEST_PASSWORD} characters, and at most {LONGEST_PASSWORD}")
    with _one_of_few():
        return _HASHER.hash(password)


def _matches(hashed: str, password: str) -> bool:
    if len(password) > LONGEST_PASSWORD:
        return False
    try:
        with _one_of_few():
            return _HASHER.verify(hashed, password)
    except (VerificationError, InvalidHashError):
        return False


def _digest(token: str) -> str:
    # A token has 256 random bits: a plain hash of it cannot be guessed backwards.
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
