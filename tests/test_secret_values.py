"""The look for secrets that `make check` takes finds one."""

import pytest
from secret_values import find


@pytest.mark.parametrize(
    "planted",
    [
        'aws = "AKIA' + 'QYLPMN5HHHFPZAM2"',
        "token = ghp_" + "0123456789ab" * 3,
        "-----BEGIN RSA PRIVATE " + "KEY-----",
        'password = "' + 'Tr0ub4dor&3-was-here"',
    ],
)
def test_a_key_in_a_file_is_found_and_told_where(tmp_path, planted):
    file = tmp_path / "settings.py"
    file.write_text(f"first = 1\n{planted}\n", encoding="utf-8")
    assert [(path, line) for path, line, *_ in find(str(file))][:1] == [(str(file), 2)]


def test_what_is_explained_is_passed_over(tmp_path):
    file = tmp_path / "settings.py"
    file.write_text('PASSWORD = "correct horse battery"\n', encoding="utf-8")
    assert find(str(file)) == []
