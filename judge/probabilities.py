"""How sure a judge was: the probabilities of the labels at the place where its label stands."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import accumulate
from math import exp
from typing import Any

from judge.domain import Scale

NEGLIGIBLE = 0.01  # of the probability may be with labels that cannot be told apart


def soft_score(scale: Scale, probabilities: Mapping[str, float]) -> float | None:
    """Return the mean of the scale's values under these probabilities, or None when there are none."""
    total = sum(probabilities.values())
    if not total > 0:
        return None
    return sum(scale.value(label) * probability for label, probability in probabilities.items()) / total


def label_probabilities(scale: Scale, text: str, tokens: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the probability of each label where the label that closes a reply stands.

    Spellings of a label (with a space or a quotation mark before it) are summed. A label of several tokens (`A`, `++`)
    has the product of theirs, and its rivals are those that part from it at each. Nothing is returned when the reply
    goes on after its label, or when more than a hundredth is with a beginning that was not followed and that several
    labels share (`B`, of `B+` and `B++`): nobody can tell whose it is. Labels not among the alternatives are absent.
    """
    labels = sorted(scale.labels, key=len, reverse=True)
    closing = re.search(rf"(?<![\w+=/.,-])(?:{'|'.join(map(re.escape, labels))})[\s\"'`*.\])}}]*\Z", text)
    if closing is None:
        return {}
    spelled = b"".join(map(_token_bytes, tokens))
    begins = spelled.rfind(text.encode("utf-8", "surrogatepass"))
    if begins < 0:  # the tokens are not this reply's, or not all of them
        return {}
    at = begins + len(text[: closing.start()].encode("utf-8", "surrogatepass"))
    ends = accumulate(len(_token_bytes(token)) for token in tokens)
    return _follow([token for token, end in zip(tokens, ends, strict=True) if at < end], labels)


def _follow(tokens: Sequence[Mapping[str, Any]], labels: Sequence[str]) -> dict[str, float]:
    """Follow a label from its first token until no other can be meant, gathering those that part from it."""
    found: dict[str, float] = {}
    written, reached, lost = "", 1.0, 0.0
    for token in tokens:
        shared = None
        for spelling, probability in _alternatives(token).items():
            begun = _labels_begun(written + spelling, labels)
            if len(begun) == 1:
                found[begun[0]] = found.get(begun[0], 0.0) + reached * probability
            elif begun and spelling == token["token"]:
                shared = reached * probability
            elif begun:
                lost += reached * probability
        if shared is None:
            return found if lost <= NEGLIGIBLE else {}
        written, reached = written + token["token"], shared
    return {}


def told_probabilities(scale: Scale, text: str, logprobs: Any) -> dict[str, float]:
    """Return the same from what a server calls `logprobs`, in whatever form it comes; nothing when it is not ours."""
    try:
        found = label_probabilities(scale, text, logprobs["content"])
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError):
        return {}  # some servers have a form of their own; the reply is good without them
    return found if sum(found.values()) <= 1 + NEGLIGIBLE else {}  # more, or NaN: these are no probabilities


def _token_bytes(token: Mapping[str, Any]) -> bytes:
    return bytes(token["bytes"]) if isinstance(token.get("bytes"), list) else str(token["token"]).encode()


def _alternatives(token: Mapping[str, Any]) -> dict[str, float]:
    """Return the probability of each token at this place, the chosen one included."""
    return {each["token"]: exp(each["logprob"]) for each in [token, *(token.get("top_logprobs") or ())]}


def _labels_begun(spelling: str, labels: Sequence[str]) -> list[str]:
    """Return the labels that a token may be the beginning, or the whole, of."""
    bare = spelling.lstrip(" \n\t\"'`*([")
    whole = bare.rstrip(" \n\t\"'`*.)]},")
    if whole != bare:  # something follows, so the label is complete
        return [whole] if whole in labels else []
    return [label for label in labels if bare and label.startswith(bare)]
