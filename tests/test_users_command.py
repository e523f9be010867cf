"""`python app.py users …`: accounts from the command line."""

import json


def test_accounts_are_added_listed_invited_and_disabled(accord):
    added = accord("users", "add", "lea", "--role", "lead", "--password-stdin", stdin=b"correct horse battery\n")
    assert (added.returncode, added.stdout) == (0, b"lea may sign in as lead\n")
    link = accord("users", "invite", "ann", "--address", "https://accord.example/").stdout.decode()
    assert link.startswith("https://accord.example/invite/")
    assert accord("users", "disable", "ann").returncode == 0
    known = json.loads(accord("users", "list", "--json").stdout)
    assert [(each["name"], each["role"], each["disabled"]) for each in known] == [
        ("ann", "annotator", True),
        ("lea", "lead", False),
    ]


def test_what_cannot_be_an_account_is_told(accord):
    for words, stdin, complaint in (
        (("add", "x", "--role", "king", "--password-stdin"), b"correct horse battery\n", b"not a role"),
        (("add", "x", "--role", "lead", "--password-stdin"), b"short\n", b"at least 10"),
        (("add", "x", "--role", "lead"), b"", b"--password-stdin"),
        (("disable", "nobody"), b"", b"no account named"),
    ):
        refused = accord("users", *words, stdin=stdin)
        assert refused.returncode == 2
        assert complaint in refused.stderr


def test_signing_in_that_is_demanded_needs_somebody_who_can(accord):
    refused = accord("serve", "--port", "7999", ACCORD_AUTH="on")
    assert refused.returncode == 2
    assert b"users add NAME --role admin" in refused.stderr
