"""Accounts managed: people in and out, links that end, roles that count at once, and always an admin left."""

from datetime import UTC, datetime, timedelta

import pytest

from exchange.accounts import INVITATION, Accounts
from judge.domain import InputError

PASSWORD = "correct horse battery"


@pytest.fixture
def accounts(store):
    made = Accounts(store)
    made.add("ada", "admin", PASSWORD)
    return made


def person(accounts, name):
    return next(each for each in accounts.people() if each.name == name)


def test_the_last_admin_can_be_neither_disabled_nor_made_something_else(accounts):
    accounts.add("bea", "admin")  # who has no password and could not let anybody in
    for change in (lambda: accounts.disable("ada"), lambda: accounts.change_role("ada", "lead")):
        with pytest.raises(InputError, match="'ada' is the last admin who can sign in"):
            change()
    assert accounts.allows("ada", "admin")
    accounts.accept(accounts.invite("bea"), PASSWORD)
    accounts.change_role("ada", "lead", by="bea")
    assert not accounts.allows("ada", "admin")
    with pytest.raises(InputError, match="last admin"):
        accounts.disable("bea")


def test_an_admin_who_signs_in_at_a_proxy_is_not_taken_away_either(store):
    accounts = Accounts(store)
    accounts.add("pia", "admin")
    with pytest.raises(InputError, match="last admin"):
        accounts.disable("pia")
    accounts.add("pat", "admin")
    accounts.disable("pia")
    accounts.disable("pia")  # what is so already may be said again
    assert accounts.find("pia") is None


def test_a_link_is_open_then_used_and_is_good_for_nothing_afterwards(accounts, store):
    accounts.add("ivy", "annotator", by="ada")
    token = accounts.invite("ivy", "ada")
    waiting = person(accounts, "ivy")
    assert (waiting.has_password, waiting.invitation_used, waiting.last_sign_in) == (False, None, None)
    assert waiting.invited_until - store.clock() < INVITATION
    accounts.accept(token, PASSWORD)
    here = person(accounts, "ivy")
    assert (here.has_password, here.invited_until, here.sessions) == (True, None, 1)
    assert here.invitation_used <= here.last_sign_in <= datetime.now(UTC)
    with pytest.raises(InputError, match="used or has run out"):
        accounts.accept(token, PASSWORD)


def test_a_link_that_was_taken_back_or_ran_out_opens_nothing(accounts, store):
    accounts.add("ivy", "annotator")
    token = accounts.invite("ivy")
    accounts.withdraw("ivy", "ada")
    assert accounts.invited(token) is None
    with pytest.raises(InputError, match="no open invitation"):
        accounts.withdraw("ivy")
    late = accounts.invite("ivy")
    now = store.clock
    store.clock = lambda: now() + INVITATION + timedelta(seconds=1)
    assert accounts.invited(late) is None


def test_a_link_to_a_new_password_leaves_the_old_one_until_it_is_used(accounts):
    accounts.add("ivy", "annotator", PASSWORD)
    session = accounts.sign_in("ivy", PASSWORD, "here")
    token = accounts.invite("ivy", "ada")
    assert accounts.who(accounts.sign_in("ivy", PASSWORD, "here")).name == "ivy"
    accounts.accept(token, "another horse battery")
    assert accounts.who(session) is None
    with pytest.raises(InputError, match="wrong"):
        accounts.sign_in("ivy", PASSWORD, "here")


def test_who_is_disabled_is_out_at_once_and_back_with_the_old_password(accounts):
    accounts.add("ivy", "annotator", PASSWORD)
    session = accounts.sign_in("ivy", PASSWORD, "here")
    accounts.disable("ivy", "ada")
    assert accounts.who(session) is None
    with pytest.raises(InputError, match="enable the account first"):
        accounts.invite("ivy")
    accounts.enable("ivy", "ada")
    assert accounts.who(session) is None
    assert accounts.who(accounts.sign_in("ivy", PASSWORD, "here")).name == "ivy"


def test_sessions_are_ended_everywhere_and_a_role_counts_in_those_that_are_open(accounts):
    accounts.add("ivy", "annotator", PASSWORD)
    first, second = (accounts.sign_in("ivy", PASSWORD, "here") for _ in range(2))
    accounts.change_role("ivy", "lead", "ada")
    assert accounts.who(first).role == "lead"
    assert accounts.end_sessions("ivy", "ada") == 2
    assert accounts.who(first) is accounts.who(second) is None
