"""The names of the files in an upload, looked at as they arrive: what is no data is refused before it is kept."""

from __future__ import annotations

from python_multipart.exceptions import MultipartParseError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.datastructures import Headers
from starlette.formparsers import MultiPartException
from starlette.types import Message, Receive

from exchange.sources import ENDINGS, is_data


class _Names:
    """Reads the headers of the parts of an upload, and only those."""

    def __init__(self, boundary: bytes) -> None:
        self.field, self.value = b"", b""
        self.parser = MultipartParser(
            boundary,
            {
                "on_header_field": self._add_field,
                "on_header_value": self._add_value,
                "on_header_end": self._end_header,
            },
        )

    def _add_field(self, data: bytes, start: int, end: int) -> None:
        self.field += data[start:end]

    def _add_value(self, data: bytes, start: int, end: int) -> None:
        self.value += data[start:end]

    def _end_header(self) -> None:
        field, value, self.field, self.value = self.field.lower(), self.value, b"", b""
        if field != b"content-disposition":
            return
        name = parse_options_header(value)[1].get(b"filename")
        if name is not None and not is_data(name.decode("utf-8", "replace")):
            raise MultiPartException(f"this kind of file is not taken; these are: {', '.join(ENDINGS)}, gzipped or not")


def checked(headers: Headers, receive: Receive) -> Receive:
    """Return a receiver that lets an upload pass as long as its files are of a kind that can be imported.

    What it raises is what the reader of the form raises for a bad one: the answer is 400, and nothing is kept.
    """
    names: _Names | None = None

    async def receiving() -> Message:
        nonlocal names
        message = await receive()
        if message["type"] == "http.request" and message.get("body"):
            if names is None:
                names = _Names(parse_options_header(headers.get("content-type", ""))[1].get(b"boundary", b""))
            try:
                names.parser.write(message["body"])
            except MultipartParseError as error:
                raise MultiPartException("the upload was not understood") from error
        return message

    return receiving
