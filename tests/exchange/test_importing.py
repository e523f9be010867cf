"""Importing and exporting through the commands: tables, compressed files, the hub, broken texts, dry runs."""

from __future__ import annotations

import csv
import gzip
import io
import json
import sqlite3
import unicodedata
import zipfile
from pathlib import Path

import fsspec
import huggingface_hub
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

import app
from exchange.exporting import COLUMNS
from exchange.formulas import neutralised, restored
from exchange.sources import has_mojibake, read_rows, repair_mojibake
from judge.protocol import find_protocol
from judge.render import render
from storage.codec import item_from_json

ROOT = Path(__file__).parents[2]
PREFERENCE = ROOT / "tests" / "judge" / "protocols" / "preference-3way.md"
ITEM = {"id": "q1", "instruction": "Où est l’été ?", "response_a": "ici", "response_b": "là"}


@pytest.fixture
def command(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ACCORD_DATABASE", raising=False)

    def run(*words: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            app.main(list(map(str, words)))
        told = capsys.readouterr()
        return int(ended.value.code or 0), told.out, told.err

    return run


def exported(command, tmp_path: Path, study: str = "s") -> list[dict]:
    assert command("export", "--study", study, "--out", "out.jsonl")[0] == 0
    return [json.loads(line) for line in (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()]


def as_imported(**changes: object) -> dict:
    question = {"conversation": [{"role": "user", "content": ITEM["instruction"]}]}
    return {"id": "q1", **question, "response_a": "ici", "response_b": "là", **changes}


FILES = {
    "lines.jsonl": lambda: json.dumps(ITEM).encode(),
    "bom.jsonl": lambda: b"\xef\xbb\xbf" + json.dumps(ITEM, ensure_ascii=False).encode(),
    "windows.jsonl": lambda: json.dumps(ITEM).encode() + b"\r\n\r\n",
    "pretty.json": lambda: json.dumps(ITEM, indent=2).encode(),
    "list.json": lambda: json.dumps([ITEM]).encode(),
    "pretty_list.json": lambda: json.dumps([ITEM], indent=2).encode(),
    "packed.jsonl.gz": lambda: gzip.compress(json.dumps(ITEM).encode()),
    "table.csv": "id,prompt,answer_a,answer_b\nq1,Où est l’été ?,ici,là\n".encode,
    "table.tsv": "id\tquestion\toutput_1\toutput_2\nq1\tOù est l’été ?\tici\tlà\n".encode,
    "table.csv.gz": lambda: gzip.compress("id,prompt,answer_a,answer_b\nq1,Où est l’été ?,ici,là\n".encode()),
}


@pytest.mark.parametrize("name", FILES)
def test_every_kind_of_file_gives_the_same_item(command, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(FILES[name]())
    assert command("import", name, "--study", "s", "--protocol", PREFERENCE)[0] == 0
    assert exported(command, tmp_path) == [as_imported()]


def test_a_parquet_file_gives_the_same_item(command, tmp_path: Path) -> None:
    parquet.write_table(pa.Table.from_pylist([ITEM]), tmp_path / "x.parquet")
    assert command("import", "x.parquet", "--study", "s", "--protocol", PREFERENCE)[0] == 0
    assert exported(command, tmp_path) == [as_imported()]


def test_the_guessed_meaning_of_columns_is_shown(command, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes(FILES["table.csv"]())
    _, _, note = command("import", "x.csv", "--study", "s", "--protocol", PREFERENCE, "--dry-run")
    assert "instruction=prompt" in note
    assert "response_b=answer_b" in note


def test_columns_can_be_given_a_meaning(command, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("nr,frage,eins,zwei,ana\n007,Warum?,links,rechts,A\n", encoding="utf-8")
    pairs = ("id=nr", "instruction=frage", "response_a=eins", "response_b=zwei", "label:ana=ana")
    words = [word for pair in pairs for word in ("--map", pair)]
    assert command("import", "x.csv", "--study", "s", "--protocol", PREFERENCE, *words)[0] == 0
    [item] = exported(command, tmp_path)
    assert (item["id"], item["response_b"], item["verdicts"][0]["rater"]) == ("007", "rechts", "ana")
    assert command("import", "x.csv", "--study", "s", "--map", "nonsense")[0] == 2


def test_columns_without_a_meaning_of_their_own_are_told_by_their_names(command, tmp_path: Path) -> None:
    text = "id;question;output A;output B;winner;ana\n7;Why?;left;right;gold;A\n8;How?;l;r;gold;\n"
    (tmp_path / "x.csv").write_text(text, encoding="utf-8")
    words = ("--map", "label:ana=ana", "--map", "instruction=question")
    assert command("import", "x.csv", "--study", "s", "--protocol", PREFERENCE, *words)[0] == 0
    item, other = exported(command, tmp_path)
    assert (item["id"], item["response_b"], other["id"]) == ("7", "right", "8")
    # Beside a column for each rater a winner is no verdict.
    assert [(one["rater"], one["label"]) for one in item["verdicts"]] == [("ana", "A")]
    assert item["metadata"] == {"winner": "gold"}
    assert "verdicts" not in other


@pytest.mark.parametrize("written", [".", "NA", "nan"])
def test_what_other_programs_write_for_nothing_is_refused_with_what_to_do(
    command, tmp_path: Path, written: str
) -> None:
    (tmp_path / "x.csv").write_text(f"question,response_a,response_b,ana\nWhy?,l,r,{written}\n", encoding="utf-8")
    code, _, told = command("import", "x.csv", "--study", "s", "--protocol", PREFERENCE, "--map", "label:ana=ana")
    assert (code, "leave the cell empty" in told) == (2, True)


def test_the_hub_is_read_through_its_own_file_system(command, tmp_path: Path, monkeypatch) -> None:
    folder = tmp_path / "hub" / "datasets" / "org" / "pairs"
    folder.mkdir(parents=True)
    (folder / "data.jsonl").write_text(json.dumps(ITEM), encoding="utf-8")

    class LocalHub:
        def open(self, location: str, mode: str) -> object:
            return fsspec.filesystem("file").open(str(tmp_path / "hub" / location.removeprefix("hf://")), mode)

    monkeypatch.setattr(huggingface_hub, "HfFileSystem", LocalHub)
    location = "hf://datasets/org/pairs/data.jsonl"
    assert command("import", location, "--study", "s", "--protocol", PREFERENCE)[0] == 0
    assert exported(command, tmp_path) == [as_imported()]
    assert command("import", "hf://datasets/org/pairs/absent.jsonl", "--study", "s")[0] == 2


def test_a_dry_run_checks_everything_and_stores_nothing(command, tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text(json.dumps(ITEM), encoding="utf-8")
    status, told, _ = command("import", "x.jsonl", "--study", "s", "--protocol", PREFERENCE, "--dry-run", "--json")
    assert status == 0
    assert json.loads(told)["items"] == 1
    assert command("export", "--study", "s")[0] == 2


def test_importing_twice_says_that_nothing_was_added(command, tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text(json.dumps(ITEM), encoding="utf-8")
    assert "added 1 items" in command("import", "x.jsonl", "--study", "s", "--protocol", PREFERENCE)[1]
    assert "nothing was added" in command("import", "x.jsonl", "--study", "s")[1]


def test_a_protocol_that_suits_is_chosen_and_said(command, tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text(json.dumps({**ITEM, "rubric": "honesty"}), encoding="utf-8")
    status, _, note = command("import", "x.jsonl", "--study", "s")
    assert status == 0
    assert "prometheus-pairwise suits the first item" in note


MANGLED = ["Ã©tÃ©", "lâ€™Ã©tÃ©", "â€œso lalaâ€\x9d", "naÃ¯ve cafÃ©", "ðŸ˜€ ok Ã©"]


@pytest.mark.parametrize("text", MANGLED)
def test_utf8_read_as_windows_1252_is_noticed_and_put_right(text: str) -> None:
    assert has_mojibake(text)
    assert not has_mojibake(repair_mojibake(text))


@pytest.mark.parametrize("text", ["été", "l’été", "“so lala”", "Ärger über Öl", "ÃO PAULO", "日本語", "😀", "plain"])
def test_sound_texts_are_left_alone(text: str) -> None:
    assert not has_mojibake(text)
    assert repair_mojibake({"x": [text]}) == {"x": [text]}


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_repair_undoes_the_damage_wherever_it_is_noticed(text: str) -> None:
    try:
        damaged = text.encode().decode("cp1252")
    except UnicodeDecodeError:
        return
    if has_mojibake(damaged):
        assert repair_mojibake(damaged) == text


def test_the_repair_is_offered_and_done_when_asked(command, tmp_path: Path) -> None:
    damaged = json.dumps({**ITEM, "response_a": "Ã©tÃ©"}, ensure_ascii=False)
    (tmp_path / "x.jsonl").write_text(damaged, encoding="utf-8")
    _, _, note = command("import", "x.jsonl", "--study", "raw", "--protocol", PREFERENCE)
    assert "x.jsonl:1" in note
    assert "--repair-text" in note
    command("import", "x.jsonl", "--study", "mended", "--protocol", PREFERENCE, "--repair-text")
    assert exported(command, tmp_path, "mended")[0]["response_a"] == "été"


def is_formula(cell: str) -> bool:
    """Say whether a spreadsheet may run a cell: it skips what is not seen, and knows the full-width signs."""
    seen = "".join(each for each in cell if unicodedata.category(each) not in ("Zs", "Zl", "Zp", "Cc", "Cf"))
    return cell.startswith(("\t", "\r", "\n")) or seen.startswith(tuple("=+-@＝＋－＠"))


@given(st.text() | st.text("'=+-@＝ \n\u00a0\u200b\ufeffx"))
def test_a_cell_made_inert_comes_back_as_it_was(text: str) -> None:
    assert restored(neutralised(text)) == text
    assert not is_formula(neutralised(text))


FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "'=1", "A=B", "plain"]
FORMULAS += ["\n=1", "＝1", "＋1", "－1", "＠SUM(A1)", " =1", "\u00a0=1", "\u200b=1", "\ufeff=1", " \u2060\u3000-1"]


def test_no_cell_of_an_exported_table_runs_in_a_spreadsheet(command, tmp_path: Path) -> None:
    verdicts = [
        {"rater": f"{text}{n}", "kind": "human", "label": "A", "comment": text} for n, text in enumerate(FORMULAS)
    ]
    (tmp_path / "x.jsonl").write_text(json.dumps({**ITEM, "id": "=q", "verdicts": verdicts}), encoding="utf-8")
    assert command("import", "x.jsonl", "--study", "=s", "--protocol", PREFERENCE)[0] == 0
    assert command("export", "--study", "=s", "--format", "csv", "--out", "x.csv")[0] == 0
    rows = list(csv.DictReader(io.StringIO((tmp_path / "x.csv").read_bytes().decode(), newline="")))
    assert list(rows[0]) == list(COLUMNS)
    assert not [cell for row in rows for cell in row.values() if is_formula(cell)]
    assert sorted(restored(row["comment"]) for row in rows) == sorted(FORMULAS)
    assert all(f"`{name}`" in (tmp_path / "x.csv.codebook.md").read_text(encoding="utf-8") for name in COLUMNS)


def test_a_parquet_export_holds_one_row_a_verdict_and_its_codebook(command, tmp_path: Path) -> None:
    verdicts = [{"rater": "ana", "kind": "human", "label": "A", "seconds": 3.5}, {"rater": "ben", "label": "tie"}]
    (tmp_path / "x.jsonl").write_text(json.dumps({**ITEM, "verdicts": verdicts}), encoding="utf-8")
    command("import", "x.jsonl", "--study", "s", "--protocol", PREFERENCE)
    assert command("export", "--study", "s", "--format", "parquet", "--out", "x.parquet")[0] == 0
    table = parquet.read_table(tmp_path / "x.parquet")
    assert [(row["rater"], row["label"], row["seconds"]) for row in table.to_pylist()] == [
        ("ana", "A", 3.5),
        ("ben", "tie", None),
    ]
    assert json.loads(table.schema.metadata[b"codebook"]) == COLUMNS
    assert command("export", "--study", "s", "--format", "parquet")[0] == 2


def test_a_bundle_holds_all_of_a_study_and_is_the_same_bytes_twice(command, tmp_path: Path) -> None:
    verdicts = [
        {"rater": "gpt", "kind": "judge", "label": "A", "order": "BA", "status": "ok", "raw": '{"choice": "B"}'}
    ]
    (tmp_path / "x.jsonl").write_text(json.dumps({**ITEM, "verdicts": verdicts}), encoding="utf-8")
    command("import", "x.jsonl", "--study", "s", "--protocol", PREFERENCE)
    for name in ("one.zip", "two.zip"):
        assert command("bundle", "--study", "s", "--out", name)[0] == 0
    with zipfile.ZipFile(tmp_path / "one.zip") as one, zipfile.ZipFile(tmp_path / "two.zip") as two:
        files = {name: one.read(name) for name in one.namelist()}
        # The second bundle also tells of the first one's export, and its seal holds that too.
        telling = ("events.jsonl", "study.json", "SHA256SUMS")
        assert {n: d for n, d in files.items() if n not in telling} == {
            name: two.read(name) for name in two.namelist() if name not in telling
        }
        settings = [{**json.loads(each.read("study.json")), "seal": ""} for each in (one, two)]
        assert settings[0] == settings[1]
    assert files["protocols/preference-3way.md"] == PREFERENCE.read_bytes()
    assert json.loads(files["calls.jsonl"])["raw"] == '{"choice": "B"}'
    prompts = [json.loads(line) for line in files["prompts.jsonl"].splitlines()]
    item = item_from_json(json.loads(files["items.jsonl"]))
    protocol = find_protocol(str(PREFERENCE))
    assert [prompt["sha256"] for prompt in prompts] == [render(protocol, item, order).sha256 for order in ("AB", "BA")]


def test_a_file_appears_only_when_it_is_complete(command, tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text(json.dumps(ITEM), encoding="utf-8")
    command("import", "x.jsonl", "--study", "s", "--protocol", PREFERENCE)
    (tmp_path / "kept.csv").write_text("old", encoding="utf-8")
    with sqlite3.connect(tmp_path / "accord.db") as connection:
        connection.execute("UPDATE item SET body = 'broken'")
    with pytest.raises(json.JSONDecodeError):
        app.app(["export", "--study", "s", "--format", "csv", "--out", "kept.csv"], standalone_mode=False)
    assert (tmp_path / "kept.csv").read_text(encoding="utf-8") == "old"
    assert sorted(path.name for path in tmp_path.glob(".kept*")) == []


def test_rows_know_where_they_came_from(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_bytes(b'\n{"a": 1}\n\n{"a": 2}\n')
    assert [row.line for row in read_rows(str(tmp_path / "x.jsonl"))] == [2, 4]


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (("label:ana=c2",), "--map: 'label:ana' is given two columns"),
        (("label:ben=c1",), "--map: 'c1' is given to two raters"),
    ],
)
def test_a_column_is_one_raters_and_a_rater_has_one(command, tmp_path: Path, more: tuple[str, ...], told: str) -> None:
    (tmp_path / "t.csv").write_text("prompt,answer_a,answer_b,c1,c2\nWhy?,x,y,A,B\n", encoding="utf-8")
    words = [part for pair in ("label:ana=c1", *more) for part in ("--map", pair)]
    code, out, err = command("import", "t.csv", "--study", "s", "--protocol", PREFERENCE, *words, "--json")
    assert (code, out) == (2, "")
    assert told in err


def test_two_columns_of_one_name_are_refused(command, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("prompt,answer_a,answer_b,winner,winner\nWhy?,x,y,A,B\n", encoding="utf-8")
    code, _, err = command("import", "t.csv", "--study", "s", "--protocol", PREFERENCE)
    assert code == 2
    assert "t.csv:1: winner: two columns have this name: rename one" in err


def test_a_column_that_only_bears_our_name_is_not_said_to_be_taken(command, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("prompt,answer_a,answer_b,winner,status\nWhy?,x,y,A,done\n", encoding="utf-8")
    code, _, err = command("import", "t.csv", "--study", "s", "--protocol", PREFERENCE)
    assert code == 0
    assert "label=winner" in err
    assert "status=status" not in err
    assert "kept as metadata, for they do not hold what their name says: status (ok or unreadable or" in err
    assert exported(command, tmp_path)[0]["metadata"] == {"status": "done"}


def test_more_verdicts_than_a_database_can_count_are_refused(command, tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text(json.dumps(ITEM), encoding="utf-8")
    words = ("import", "t.jsonl", "--study", "s", "--protocol", PREFERENCE)
    code, _, err = command(*words, "--wanted", 10**20)
    assert code == 2
    assert "--wanted" in err


def test_a_bad_verdict_is_named_by_its_own_line_of_a_table(command, tmp_path: Path) -> None:
    lines = ["prompt,answer_a,answer_b,winner,rater,kind"]
    lines += ["Why?,x,y,A,ana,human", "How?,x,y,B,ana,human", "Why?,x,y,neither,ben,human"]
    words = ("import", "t.csv", "--study", "s", "--protocol", PREFERENCE, "--map", "kind=kind")
    (tmp_path / "t.csv").write_text("\n".join(lines), encoding="utf-8")
    code, _, err = command(*words)
    assert code == 2
    assert "t.csv:4: verdicts[1].label: 'neither' is not a label" in err
    (tmp_path / "t.csv").write_text("\n".join(lines).replace("neither,ben,human", "B,ben,robot"), encoding="utf-8")
    assert "t.csv:4: verdicts[1].kind: must be human or judge, not 'robot'" in command(*words)[2]
