"""A small disk of its own, which can be filled and on which files can be made impossible to write."""

from __future__ import annotations

import array
import fcntl
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

MEGABYTES = 64
_GET_FLAGS, _SET_FLAGS, _IMMUTABLE = 0x80086601, 0x40086602, 0x10  # of Linux: what `chattr +i` does


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """Mount a file with a file system in it; where that is not allowed, the test is skipped."""
    image, place = folder / "disk.img", folder / "disk"
    image.write_bytes(b"")
    os.truncate(image, MEGABYTES * 1_000_000)
    place.mkdir()
    try:
        for words in (["mkfs.ext4", "-q", str(image)], ["mount", "-o", "loop", str(image), str(place)]):
            subprocess.run(words, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"a disk to fill needs the right to mount one: {error}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True, capture_output=True)


@contextmanager
def filled(disk: Path) -> Iterator[None]:
    """Leave no byte free on a disk."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for size in (1_000_000, 4096, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue
    yield
    ballast.unlink()


@contextmanager
def read_only(*files: Path) -> Iterator[None]:
    """Let nobody write to files, not even who has them open, nor the administrator."""
    try:
        for file in files:
            _set(file, immutable=True)
    except OSError as error:
        pytest.skip(f"barring a file needs the right to, and a file system that can: {error}")
    try:
        yield
    finally:
        for file in files:
            _set(file, immutable=False)


def _set(file: Path, *, immutable: bool) -> None:
    number = os.open(file, os.O_RDONLY)
    flags = array.array("l", [0])
    fcntl.ioctl(number, _GET_FLAGS, flags)
    flags[0] = flags[0] | _IMMUTABLE if immutable else flags[0] & ~_IMMUTABLE
    fcntl.ioctl(number, _SET_FLAGS, flags)
    os.close(number)
