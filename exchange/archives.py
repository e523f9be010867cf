"""Opening a ZIP file that a stranger may have made: what cannot be read safely is refused in words."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from judge.domain import InputError

_KNOWN = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # how our own are packed
_ENCRYPTED = 0x1
_BOMB_SIZE, _BOMB_RATIO = 50_000_000, 200


@contextmanager
def opened_archive(path: Path) -> Iterator[zipfile.ZipFile]:
    """Give an archive whose parts can be read; whatever is wrong with it or in it is told as one refusal."""
    try:
        with zipfile.ZipFile(path) as archive:
            _check_parts(archive)
            yield archive
    except (OSError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise InputError(f"{path}: is not a bundle that can be read: {error}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not a bundle that can be read: a text in it is not UTF-8") from error
    except RecursionError as error:
        raise InputError(f"{path}: is not a bundle that can be read: a value in it is nested too deeply") from error


def _check_parts(archive: zipfile.ZipFile) -> None:
    """Refuse what is locked, packed in a way that we never use, or unpacks to far more than it is."""
    parts = archive.infolist()
    for part in parts:
        if part.flag_bits & _ENCRYPTED:
            raise zipfile.BadZipFile(f"{part.filename} is encrypted")
        if part.compress_type not in _KNOWN:
            raise zipfile.BadZipFile(f"{part.filename} is packed in an unknown way")
    size, packed = sum(part.file_size for part in parts), sum(part.compress_size for part in parts)
    if size > _BOMB_SIZE and size > _BOMB_RATIO * max(1, packed):
        raise zipfile.BadZipFile(f"it unpacks to {_BOMB_RATIO} times its size and more")
