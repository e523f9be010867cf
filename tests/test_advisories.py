"""The look for known faults of packages that `make check` takes: it fails on one, and without a service it says so."""

import json

import advisories
import pytest

FAULT = {"id": "PYSEC-2026-1", "fix_versions": ["2.0"]}
PACKAGES = [{"name": "p", "version": "1.0", "vulns": [FAULT]}, {"name": "q", "skip_reason": "not found"}]


@pytest.fixture(autouse=True)
def asked(monkeypatch, tmp_path):
    """Return the services that were asked; nothing leaves the machine."""
    names = []
    monkeypatch.setattr(advisories, "KEPT", tmp_path / "kept.json")
    monkeypatch.setattr(advisories, "answers", lambda service: service == "osv")
    monkeypatch.setattr(advisories, "ask", lambda service: names.append(service) or PACKAGES)
    return names


def test_a_known_fault_fails_until_it_is_explained(capsys, monkeypatch, asked):
    with pytest.raises(SystemExit, match="make lock"):
        advisories.main()
    assert "p 1.0: PYSEC-2026-1, mended in 2.0" in capsys.readouterr().out
    monkeypatch.setitem(advisories.ACCEPTED, "PYSEC-2026-1", "nothing of ours calls it")
    advisories.main()
    assert "1 of 2 packages; 0 faults" in capsys.readouterr().out
    assert asked == ["osv"]  # the second time from what was kept


def test_what_was_said_of_other_locks_or_another_day_is_not_believed(monkeypatch, asked):
    monkeypatch.setitem(advisories.ACCEPTED, "PYSEC-2026-1", "nothing of ours calls it")
    advisories.main()
    kept = json.loads(advisories.KEPT.read_text())
    for changed in ({**kept, "at": kept["at"] - 2 * advisories.DAY}, {**kept, "locks": "others"}, []):
        advisories.KEPT.write_text(json.dumps(changed))
        advisories.main()
    assert len(asked) == 4


def test_where_no_service_answers_nothing_fails(capsys, monkeypatch, asked):
    monkeypatch.setattr(advisories, "answers", lambda _: False)
    advisories.main()
    assert "nothing is known about the packages" in capsys.readouterr().out
    assert asked == []
