"""The preview of an import: what it finds, what it says of bad lines, and that it stores nothing."""

import json

import pytest

from exchange.importing import ImportRequest, import_files, preview_files
from judge.domain import InputError, Study, StudyError
from judge.protocol import find_protocol

WILDBENCH = find_protocol("wildbench-pairwise")


def write(path, *values):
    path.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")
    return str(path)


def line(name, **more):
    return {"id": name, "instruction": f"{name}?", "response_a": "x", "response_b": "y", **more}


def test_it_counts_and_shows_the_first_items_and_stores_nothing(sqlite, tmp_path):
    given = [{"rater": "ana", "label": "A+"}]
    file = write(tmp_path / "i.jsonl", *(line(f"q{n}", verdicts=given) for n in range(5)))
    found = preview_files(sqlite, ImportRequest([file], "new"))
    assert (found.protocol, found.format, found.items, found.verdicts) == ("wildbench-pairwise", "accord", 5, 5)
    assert [record.item.id for record in found.first] == ["q0", "q1", "q2"]
    assert (found.wrong, found.errors, found.known, found.columns) == (0, (), 0, ())
    assert sqlite.studies() == []


def test_it_says_how_much_is_in_the_study_already(sqlite, tmp_path):
    file = write(tmp_path / "i.jsonl", line("q1"))
    import_files(sqlite, ImportRequest([file], "s", WILDBENCH), lambda _: None)
    file = write(tmp_path / "more.jsonl", line("q1"), line("q2"))
    found = preview_files(sqlite, ImportRequest([file], "s"))
    assert (found.items, found.known) == (2, 1)


def test_every_bad_line_is_named_beyond_the_twenty_of_an_import(sqlite, tmp_path):
    file = write(tmp_path / "bad.jsonl", line("good"), *({"id": f"q{n}", "instruction": "q"} for n in range(30)))
    found = preview_files(sqlite, ImportRequest([file], "s"))
    assert (found.items, found.wrong, len(found.errors)) == (1, 30, 30)
    assert found.errors[29].startswith(f"{file}:31: response_a: is missing")


def test_a_table_tells_its_columns_and_the_guess(sqlite, tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("id,question,answer_a,answer_b,colour\n1,q?,x,y,red\n", encoding="utf-8")
    found = preview_files(sqlite, ImportRequest([str(file)], "s"))
    assert found.columns == ("id", "question", "answer_a", "answer_b", "colour")
    assert dict(found.mapping) == {
        "id": "id",
        "instruction": "question",
        "response_a": "answer_a",
        "response_b": "answer_b",
    }


def test_a_table_nobody_can_guess_asks_for_a_mapping_and_takes_it(sqlite, tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("was,links,rechts\nq?,x,y\n", encoding="utf-8")
    found = preview_files(sqlite, ImportRequest([str(file)], "s"))
    assert (found.wrong, found.columns) == (1, ("was", "links", "rechts"))
    assert "no column is known to hold it" in found.errors[0]
    mapping = {"instruction": "was", "response_a": "links", "response_b": "rechts"}
    found = preview_files(sqlite, ImportRequest([str(file)], "s", mapping=mapping))
    assert (found.wrong, found.first[0].item.response_b) == (0, "y")


def test_garbled_letters_are_pointed_out(sqlite, tmp_path):
    file = write(tmp_path / "i.jsonl", line("q1", reference_answer="cafÃ©"))
    assert preview_files(sqlite, ImportRequest([file], "s")).mangled == f"{file}:1"
    assert preview_files(sqlite, ImportRequest([file], "s", repair_text=True)).mangled is None


def test_a_spreadsheet_is_refused_with_what_to_do(sqlite, tmp_path):
    (tmp_path / "t.xlsx").write_bytes(b"PK\3\4")
    found = preview_files(sqlite, ImportRequest([str(tmp_path / "t.xlsx")], "s"))
    assert "save it as CSV" in found.errors[0]


def test_a_file_without_items_is_refused(sqlite, tmp_path):
    (tmp_path / "t.csv").write_text("id,question,answer\n", encoding="utf-8")
    with pytest.raises(InputError, match="no items found"):
        preview_files(sqlite, ImportRequest([str(tmp_path / "t.csv")], "s"))


def test_a_new_study_gets_every_setting_it_was_given(sqlite, tmp_path):
    file = write(tmp_path / "i.jsonl", line("q1"))
    wanted = Study("other", find_protocol("prometheus-direct").version, 5, 7, False, True, 0.25, 60, "Read.")
    import_files(sqlite, ImportRequest([file], "s", new_study=wanted), lambda _: None)
    made = sqlite.study("s")
    assert (made.wanted, made.seed, made.blind, made.reveal) == (5, 7, False, True)
    assert (made.repeat_share, made.claim_seconds, made.guidelines) == (0.25, 60, "Read.")
    assert (made.protocol.name, made.items) == ("wildbench-pairwise", 1)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"name": "  "}, "needs a name"),
        ({"name": "x" * 201}, "at most 200"),
        ({"wanted": 0}, "at least one"),
        ({"repeat_share": 1.5}, "between 0 and 1"),
        ({"claim_seconds": 0}, "time-out above 0"),
        ({"seed": 2**63}, "seed is too large"),
    ],
)
def test_settings_that_make_no_sense_are_refused(sqlite, changes, complaint):
    with pytest.raises(StudyError, match=complaint):
        sqlite.create_study(Study(**{"name": "s", "protocol": WILDBENCH.version, **changes}))
    assert sqlite.studies() == []
