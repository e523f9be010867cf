"""A study in one zip file: everything that is needed to check it or to go on with it elsewhere.

The same study gives the same bytes: entries carry a fixed time and intervals a fixed seed. `verify` makes everything
again that follows from the items, calls and verdicts. What nothing else in the bundle tells of, such as the settings
and the trail, is held by the seal of `study.json`.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from typing import IO, Any

from exchange.agreeing import agree
from exchange.exporting import codebook, csv_lines, interchange_lines, long_rows
from exchange.report import write_report
from judge.domain import ORDERS, Study, content_hash
from judge.protocol import Protocol, load_version
from judge.render import render
from storage.codec import encode, item_from_json
from storage.store import Store

_TIME = (1980, 1, 1, 0, 0, 0)
_PACKAGES = ("gradio", "sqlalchemy", "json-repair", "pyyaml")


def write_bundle(store: Store, name: str, target: IO[bytes]) -> dict[str, str]:
    """Write the bundle and return the checksum of each of its files."""
    study = store.study(name)
    protocol = load_version(study.protocol)
    found = agree(store, name)
    files: dict[str, Iterable[str]] = {
        **{f"protocols/{each.name}.md": [each.source] for each in _with_twin(protocol)},
        "items.jsonl": interchange_lines(store, name),
        "prompts.jsonl": prompt_lines((body for body, _ in store.records(name)), protocol),
        "calls.jsonl": map(_line, store.calls(name)),
        "verdicts.jsonl": map(_line, store.all_verdicts(name)),
        "verdicts.csv": csv_lines(long_rows(store, name)),
        "codebook.md": [codebook()],
        "remarks.jsonl": map(_line, store.remarks(name)),
        "events.jsonl": map(_line, store.events(name)),
        "agreement.json": [json.dumps(found, ensure_ascii=False, indent=1, allow_nan=False) + "\n"],
        "report.html": [write_report(found)],
    }
    sums: dict[str, str] = {}
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, pieces in files.items():
            sums[path] = _write(archive, path, pieces)
        sums["study.json"] = _write(archive, "study.json", [sealed(_described(study), sums)])
        listed = "".join(f"{digest}  {path}\n" for path, digest in sums.items())
        _write(archive, "SHA256SUMS", [listed])
    return sums


def _write(archive: zipfile.ZipFile, path: str, pieces: Iterable[str]) -> str:
    digest = hashlib.sha256()
    entry = zipfile.ZipInfo(path, _TIME)
    entry.compress_type = zipfile.ZIP_DEFLATED
    with archive.open(entry, "w", force_zip64=True) as file:
        for piece in pieces:
            data = piece.encode()
            digest.update(data)
            file.write(data)
    return digest.hexdigest()


def _with_twin(protocol: Protocol) -> Iterator[Protocol]:
    yield protocol
    if protocol.without_reference is not None:
        yield protocol.without_reference


def _described(study: Study) -> dict[str, Any]:
    value = {key: found for key, found in asdict(study).items() if key != "protocol"}
    value["protocol"] = {"name": study.protocol.name, "hash": study.protocol.hash}
    value["versions"] = {"accord": _version("accord"), **{name: _version(name) for name in _PACKAGES}}
    return value


def sealed(described: dict[str, Any], sums: Mapping[str, str]) -> str:
    """Return `study.json`: what is said of the study, and a hash of it together with every other file's sum."""
    listed = [f"{digest}  {path}" for path, digest in sorted(sums.items())]
    seal = content_hash("bundle", _indented(described), *listed)
    return _indented({**described, "seal": seal})


def _indented(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1, default=_plain) + "\n"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:  # run from a checkout, where Accord itself is not installed
        return "unknown"


def prompt_lines(bodies: Iterable[str], protocol: Protocol) -> Iterator[str]:
    """Yield every prompt that items (as JSON texts) give, with its hashes, one a line."""
    for body in bodies:
        item = item_from_json(json.loads(body))
        for order in ORDERS if protocol.kind == "pairwise" else ORDERS[:1]:
            prompt = render(protocol, item, order)
            described = {"item": item.id, "order": order, "protocol": prompt.protocol, "hash": prompt.hash}
            yield encode({**described, "sha256": prompt.sha256, "system": prompt.system, "user": prompt.user}) + "\n"


def _line(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, default=_plain) + "\n"


def _plain(value: Any) -> str:
    return str(value.isoformat()).replace("+00:00", "Z")
