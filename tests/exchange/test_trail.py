"""The trail: who came in, who did not, and who changed what, found again in words."""

import pytest
from openai_server import OpenAIServer, completion

import app
from exchange.accounts import TRIES_FOR_A_NAME, Accounts, TooManyTriesError
from exchange.endpoints import Endpoints, Preset
from exchange.trail import TOLD, as_json, kinds_of, tell
from judge.domain import InputError, Item, Study, Turn
from judge.protocol import find_protocol
from storage.imports import prepare
from storage.trail import Entry, TrailSearch
from storage.verdicts import Submission

PASSWORD = "correct horse battery"


def told(store, group="", who="", study=""):
    found = store.trail(TrailSearch(kinds_of(group), who, study), None, 100)
    return [(entry.who, tell(entry)) for entry in reversed(found)]


def test_who_came_in_and_who_did_not_is_written_down(store):
    accounts = Accounts(store)
    accounts.add("ann", "annotator", PASSWORD, by="ada")
    accounts.sign_out(accounts.sign_in("ann", PASSWORD, "10.0.0.1"))
    for name in ("ann", "hunter2 in the wrong box"):
        with pytest.raises(InputError, match="wrong"):
            accounts.sign_in(name, "no", "10.0.0.2")
    assert told(store, "sign-ins") == [
        ("ann", "signed in"),
        ("ann", "signed out"),
        ("", "somebody gave a wrong password for ann, from 10.0.0.2"),
        ("", "somebody gave a wrong password for an unknown name, from 10.0.0.2"),
    ]
    assert "hunter2" not in str(store.trail(TrailSearch(), None, 100))


def test_a_flood_of_wrong_passwords_adds_one_line_once_it_is_stopped(store):
    accounts = Accounts(store)
    accounts.add("ann", "annotator", PASSWORD)
    for _ in range(TRIES_FOR_A_NAME):
        with pytest.raises(InputError, match="wrong"):
            accounts.sign_in("ann", "no", "10.0.0.2")
    for _ in range(20):
        with pytest.raises(TooManyTriesError):
            accounts.sign_in("ann", "no", "10.0.0.2")
    kinds = [entry.kind for entry in store.trail(TrailSearch(kinds_of("sign-ins")), None, 100)]
    assert kinds == ["sign_in_blocked", *["sign_in_failed"] * TRIES_FOR_A_NAME]


def test_what_was_done_to_accounts_tells_by_whom(store):
    accounts = Accounts(store)
    accounts.add("ann", "annotator", by="ada")
    accounts.invite("ann", "ada")
    accounts.withdraw("ann", "ada")
    accounts.accept(accounts.invite("ann", "ada"), PASSWORD)
    accounts.change_role("ann", "lead", "ada")
    accounts.end_sessions("ann", "ada")
    accounts.disable("ann", "ada")
    accounts.enable("ann", "ada")
    assert told(store, "accounts") == [
        ("ada", "added the account ann as annotator"),
        ("ada", "made a one-time link for ann"),
        ("ada", "took the link for ann back"),
        ("ada", "made a one-time link for ann"),
        ("ann", "chose a password with a one-time link"),
        ("ada", "changed the role of ann from annotator to lead"),
        ("ada", "signed ann out everywhere (sessions ended: 1)"),
        ("ada", "disabled the account ann"),
        ("ada", "enabled the account ann"),
    ]


def test_what_was_changed_exported_and_seen_in_a_study_tells_by_whom(store, make_study):
    make_study(2)
    store.change_wanted("s", 5, "lea")
    assert store.change_guidelines("s", "Be kind.", "lea") == 2
    store.close_study("s", "lea")
    store.reopen_study("s", "lea")
    store.record_event("export", "s", format="csv", by="lea")
    held = store.claim_next("s", "ann")
    store.save_verdict(held.token, Submission("A"), "ann")
    store.reveal(held.token, "ann")
    assert told(store, study="s") == [
        ("", "made the study"),
        ("lea", "changed the verdicts wanted per item from 3 to 5"),
        ("lea", "wrote version 2 of the guidelines"),
        ("lea", "closed the study"),
        ("lea", "opened the study again"),
        ("lea", "exported csv"),
        ("ann", "was shown what was hidden of an item"),
    ]
    assert told(store, who="ann") == [("ann", "was shown what was hidden of an item")]
    assert told(store, "exports", "lea", "s") == [("lea", "exported csv")]
    assert told(store, who="nobody") == told(store, study="other") == []


def test_an_endpoint_is_told_with_its_address_and_only_one_that_was_there_is_removed(store):
    endpoints = Endpoints(store, environment={})
    endpoints.save_preset(Preset("ours", "m", "http://127.0.0.1:1/v1"), "lea")
    endpoints.remove_preset("ours", "lea")
    endpoints.remove_preset("ours", "lea")
    assert told(store, "judges") == [
        ("lea", "named the endpoint ours, at http://127.0.0.1:1/v1"),
        ("lea", "removed the endpoint ours"),
    ]


def test_the_trail_is_read_in_pages_newest_first(store):
    for number in range(7):
        store.record_event("export", None, format=str(number), by="")
    first = store.trail(TrailSearch(), None, 3)
    second = store.trail(TrailSearch(), first[-1].id, 3)
    assert [entry.details["format"] for entry in (*first, *second)] == list("654321")


def test_a_line_of_an_older_program_and_one_of_a_later_one_are_still_told(store):
    store.record_event("export", None, way="by an older one")
    store.record_event("danced", None, by="ann")
    assert told(store) == [("", "exported ?"), ("ann", "danced")]
    [newest, _] = store.trail(TrailSearch(), None, 2)
    assert as_json(newest)["details"] == {"by": "ann"}


@pytest.mark.parametrize("kind", [kind for group in TOLD.values() for kind in group])
def test_names_in_braces_are_not_taken_for_words_of_ours(kind):
    details = dict.fromkeys(("account", "address", "format", "endpoint"), "{0} {by} {account.__class__}")
    assert "class 'str'" not in tell(Entry(1, None, kind, "", None, details))


def test_an_unknown_group_is_told():
    with pytest.raises(InputError, match="sign-ins, accounts, exports"):
        kinds_of("gossip")


def test_what_is_done_on_the_command_line_is_written_down_once(sqlite, tmp_path, monkeypatch):
    monkeypatch.setenv("ACCORD_DATABASE", str(sqlite.engine.url))
    sqlite.create_study(Study("s", find_protocol("wildbench-pairwise").version))
    sqlite.add_prepared("s", [prepare(Item("q", (Turn("user", "?"),), "left", "right", checklist=("Right?",)))])

    def run(*words):
        with pytest.raises(SystemExit) as ended:
            app.main(list(words))
        assert not ended.value.code, words

    with OpenAIServer(lambda seen: completion('{"choice": "A+"}')) as server:
        asked = ("--study", "s", "--model", "m", "--base-url", server.url)
        run("judge", *asked, "--dry-run")
        run("judge", *asked)
        run("probe", *asked, "--attack", "begging", "--limit", "1")
    run("reparse", "--study", "s")
    run("agreement", "--study", "s", "--resamples", "20", "--html", str(tmp_path / "report.html"))
    run("backup", str(tmp_path / "copy.db"))
    assert told(sqlite)[1:] == [
        ("command line", "started the judge m"),
        ("command line", "tried attacks on the judge m"),
        ("command line", "read every stored reply again (verdicts changed: 0)"),
        ("command line", "exported agreement (html)"),
        ("command line", "copied the whole database"),
    ]
