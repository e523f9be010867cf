"""Texts that no database can keep: refused with a sentence over either, and never quoted in an error."""

from __future__ import annotations

import contextlib
import traceback
from dataclasses import replace

import pytest
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from exchange.accounts import Accounts
from exchange.endpoints import Endpoints, Preset
from judge.domain import InputError, Study
from storage.browse import Search
from storage.desk import Remark
from storage.trail import TrailSearch


@pytest.mark.parametrize("wrong", ["a\0b", "half \ud800"])
def test_a_text_that_cannot_be_kept_is_refused_by_every_entrance(store, make_study, wrong):
    make_study(1)
    study, accounts, endpoints = store.study("s"), Accounts(store), Endpoints(store, environment={})
    held = store.claim_next("s", "ann")
    for attempt in (
        lambda: store.create_study(replace(study, name=wrong)),
        lambda: store.create_study(Study("t", study.protocol, guidelines=wrong)),
        lambda: store.change_guidelines("s", wrong),
        lambda: store.study(wrong),
        lambda: store.claim_next("s", wrong),
        lambda: store.skip_item(held.token, wrong),
        lambda: store.add_remark(held.token, Remark("flag", comment=wrong)),
        lambda: store.remark_on_item("s", "q0", wrong, Remark("flag")),
        lambda: accounts.add(wrong, "lead"),
        lambda: accounts.sign_in(wrong, "correct horse battery", ""),
        lambda: endpoints.save_preset(Preset(wrong, "m")),
        lambda: endpoints.save_preset(Preset("p", wrong)),
    ):
        with pytest.raises(InputError):
            attempt()
    assert store.studies() == [store.study("s")]


@pytest.mark.parametrize("wrong", ["a\0b", "half \ud800"])
def test_to_look_for_such_a_text_is_no_fault(store, make_study, wrong):
    make_study(1)
    for look in (
        lambda: store.browse_items("s", Search(text=wrong)).found,
        lambda: store.trail(TrailSearch(who=wrong), None, 5),
        lambda: Accounts(store).find(wrong),
    ):
        with contextlib.suppress(InputError):  # or SQLite looks, and finds nothing
            assert not look()


def test_an_error_of_the_database_quotes_no_text(store):
    asked = {"it": "a text of somebody's"}
    with pytest.raises(SQLAlchemyError) as fault, store.reading() as connection:
        connection.execute(text("SELECT * FROM nowhere WHERE it = :it"), asked)
    assert asked["it"] not in "".join(traceback.format_exception(fault.value))
