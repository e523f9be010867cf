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


def test_an_account_is_changed_signed_out_and_let_in_again_but_the_last_admin_stays(accord):
    for name, role in (("ada", "admin"), ("ann", "annotator")):
        accord("users", "add", name, "--role", role, "--password-stdin", stdin=b"correct horse battery\n")
    assert accord("users", "role", "ann", "lead").stdout == b"ann is now lead\n"
    assert accord("users", "sign-out", "ann").stdout == b"0 sessions of ann have ended\n"
    accord("users", "invite", "ann")
    assert accord("users", "withdraw", "ann").stdout == b"the link for ann works no more\n"
    accord("users", "disable", "ann")
    assert accord("users", "enable", "ann").stdout == b"ann may sign in again\n"
    known = json.loads(accord("users", "list", "--json").stdout)
    assert known[1] | {"created": ""} == {
        "name": "ann",
        "role": "lead",
        "created": "",
        "disabled": False,
        "last_sign_in": None,
        "sessions": 0,
        "invited_until": None,
        "invitation_used": None,
    }
    for words in (("disable", "ada"), ("role", "ada", "lead")):
        refused = accord("users", *words)
        assert (refused.returncode, b"last admin" in refused.stderr) == (2, True)


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


def test_the_trail_is_printed_for_people_and_for_programs(accord):
    accord("users", "add", "ada\u001b[2J", "--role", "admin", "--password-stdin", stdin=b"correct horse battery\n")
    accord("users", "add", "ada", "--role", "admin", "--password-stdin", stdin=b"correct horse battery\n")
    accord("demo")
    accord("export", "--study", "Example: WildBench", "--format", "csv")
    lines = accord("audit").stdout.decode().splitlines()
    assert lines[0].endswith("  command line  exported csv [Example: WildBench]")
    assert lines[-1].endswith("  command line  added the account ada as admin")
    [entry] = json.loads(accord("audit", "--what", "exports", "--json").stdout)
    assert entry["details"] == {"format": "csv", "by": "command line"}
    assert (entry["kind"], entry["who"], entry["study"]) == ("export", "command line", "Example: WildBench")
    assert accord("audit", "--limit", "1", "--before", str(entry["id"])).stdout.count(b"\n") == 1
    assert accord("audit", "--what", "gossip").returncode == 2
