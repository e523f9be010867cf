"""The documents that pages begin with: they name the files that Gradio's scripts would find out late, and come packed.

Those scripts ask for one another in four steps; a browser that is told of all of them at once asks for all at once.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path

import gradio as gr
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

FRONTEND = Path(gr.__file__).parent / "templates" / "frontend"
BASE = b'<base href="./" />'  # addresses that stand before it begin at another place
PACKING = 1  # of 9: a document is packed each time; more would take longer than it saves on most ways
FRAME = "column"  # what every page is in
DOOR_AS = {"api": "state"}  # a door has no looks: for it Gradio loads what it loads for a state
_ENTRY = re.compile(r"\./assets/(index-[\w-]+\.js)")
_LIST = re.compile(r"m\.f\|\|\(m\.f=(\[.*?\])\)")
_LISTED = re.compile(r'"\./([^"]+)"')
_IMPORT = re.compile(r"import\(`\./([\w-]+\.js)`\)[^_]*?__vite__mapDeps\(\[([\d,]*)\]\)")
_COMPONENT = re.compile(r"(?:(\w+):\{)?(?:base|example|(component)):\(\)=>\w+\(\(\)=>import\(`\./([\w-]+\.js)`\)")


@dataclass(frozen=True, slots=True)
class Frontend:
    """The files that Gradio's pages load: those of every page, and those of each kind of component."""

    always: tuple[str, ...] = ()
    components: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def needed(self, kinds: Collection[str]) -> list[str]:
        """Return the scripts and styles of a page with components of these kinds."""
        wanted = sorted({DOOR_AS.get(kind, kind) for kind in kinds})
        return list(dict.fromkeys([*self.always, *(file for kind in wanted for file in self.components.get(kind, ()))]))


def make_heads(blocks: gr.Blocks) -> dict[str, bytes]:
    """Return what the document of each page is to say of the files that the page will need."""
    kinds: dict[str, set[str]] = {}
    for block in blocks.blocks.values():
        kinds.setdefault(block.page, {FRAME}).add(block.get_block_name())
    frontend = read_frontend(FRONTEND)
    theme = f'<link rel="preload" as="style" href="./theme.css?v={blocks.theme_hash}">'
    return {page: "".join([*map(_link, frontend.needed(each)), theme]).encode() for page, each in kinds.items()}


def read_frontend(folder: Path) -> Frontend:
    """Read off the scripts themselves what they load; one of a form that is not known here is left to do so late."""
    entry = _ENTRY.search((folder / "index.html").read_text("utf-8"))
    if entry is None:
        return Frontend()
    first = _imports(folder, entry[1])
    always = [entry[1], *(file for files in first.values() for file in files)]
    components: dict[str, tuple[str, ...]] = {}
    for script in first:
        later = _imports(folder, script)
        always += [file for name, files in later.items() if name.startswith("Blocks-") for file in files]
        components |= {kind: tuple(later.get(name, ())) for kind, name in _components(folder, script).items()}
    return Frontend(tuple(always), components)


def _imports(folder: Path, script: str) -> dict[str, list[str]]:
    """Return the scripts that a script may load, each with all the files that this takes."""
    text = _text(folder, script)
    listed = _LIST.search(text)
    files = _LISTED.findall(listed[1]) if listed else []
    return {name: [files[int(at)] for at in places.split(",") if at] for name, places in _IMPORT.findall(text)}


def _components(folder: Path, script: str) -> dict[str, str]:
    """Return the script of each kind of component that a script knows."""
    found, kind = {}, ""
    for opened, is_component, name in _COMPONENT.findall(_text(folder, script)):
        kind = opened or kind
        if is_component:
            found[kind] = name
    return found


def _text(folder: Path, script: str) -> str:
    return (folder / "assets" / script).read_text("utf-8")


def _link(file: str) -> str:
    how = 'rel="modulepreload"' if file.endswith(".js") else 'rel="preload" as="style"'
    return f'<link {how} crossorigin href="./assets/{file}">'


class Documents:
    """Completes the documents of pages on their way out; everything else passes as it is."""

    def __init__(self, app: ASGIApp, heads: Mapping[str, bytes]) -> None:
        self.app = app
        self.heads = heads

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand a request on, and complete the answer if it is the document of a page."""
        head = self.heads.get(scope["path"].strip("/")) if scope["type"] == "http" else None
        if head is None or scope["method"] != "GET":
            await self.app(scope, receive, send)
            return
        packs = "gzip" in Headers(scope=scope).get("accept-encoding", "")
        await self.app(scope, receive, _completing(send, head, packs=packs))


def _completing(send: Send, head: bytes, *, packs: bool) -> Send:
    start: Message = {}
    body = b""

    async def sending(message: Message) -> None:
        nonlocal start, body
        if message["type"] == "http.response.start" and _is_document(message):
            start = message
        elif not start:
            await send(message)
        else:
            body += message.get("body", b"")
            if not message.get("more_body"):
                full = body.replace(BASE, BASE + head, 1)
                sent = gzip.compress(full, PACKING, mtime=0) if packs else full
                headers = MutableHeaders(scope=start)
                headers["Content-Length"] = str(len(sent))
                headers.add_vary_header("Accept-Encoding")
                if packs:
                    headers["Content-Encoding"] = "gzip"
                await send(start)
                await send({"type": "http.response.body", "body": sent})

    return sending


def _is_document(start: Message) -> bool:
    kind = Headers(raw=start["headers"]).get("content-type", "")
    return start["status"] == HTTPStatus.OK and kind.startswith("text/html")
