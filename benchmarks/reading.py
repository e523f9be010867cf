"""What rendering costs beside chained `str.replace`, reading beside `json.loads`, and the worst texts.

python -m benchmarks.reading
"""

from __future__ import annotations

import hashlib
import json
import random
import time
from collections.abc import Callable

from judge.domain import Item, Turn
from judge.protocol import list_protocols
from judge.read import read
from judge.render import render

PROMPTS = 2_000
REPLIES = 10_000
MEGABYTE = 1_000_000
PROTOCOLS = list_protocols()


def make_objects() -> list[str]:
    """Return well-formed WildBench replies of about 4 kB."""
    chance = random.Random(0)
    keys = ["analysis of A", "analysis of B", "reason of A=B", "reason of A>B", "reason of B>A"]
    words = ["the", "response", "explains", "each", "step", "with", "f(x)", "“why”", '"clear"', "but", "long"]
    replies = []
    for _ in range(REPLIES):
        value = {key: " ".join(chance.choices(words, k=130)) for key in keys}
        replies.append(json.dumps({**value, "choice": chance.choice(["A++", "A+", "A=B", "B+", "B++"])}, indent=4))
    return replies


def seconds(work: Callable[[], object]) -> float:
    """Return how long one run of some work takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def compare_rendering() -> None:
    """Print what a prompt with its spans and digest costs beside one replacement after another and a digest."""
    protocol = PROTOCOLS["wildbench-pairwise"]
    item = Item(
        "q", (Turn("user", "Why? " * 100),), "One answer. " * 250, "Another. " * 300, checklist=("Is it so?",) * 5
    )
    values = {
        "history": "",
        "user_query": item.conversation[-1].content,
        "candidate_A": item.response_a,
        "candidate_B": item.response_b or "",
        "checklist": "".join(f"- {line}\n" for line in item.checklist),
    }

    def fill() -> str:
        text = protocol.template
        for name, value in values.items():
            text = text.replace(f"{{${name}}}", value)
        return hashlib.sha256(text.encode()).hexdigest()

    if render(protocol, item, "AB").sha256 != fill():
        raise RuntimeError("the two ways give different prompts")
    plain = seconds(lambda: [fill() for _ in range(PROMPTS)])
    ours = seconds(lambda: [render(protocol, item, "AB") for _ in range(PROMPTS)])
    size = len(render(protocol, item, "AB").user) / 1000
    print(f"{PROMPTS} prompts of {size:.1f} kB, one pass with spans and digest: {ours / plain:.1f}× str.replace\n")


def worst_texts() -> dict[str, str]:
    """Return texts of about a megabyte made to be slow to read."""
    seeds = ["{", '{"a":', '{"a":[0,0,0,0,', '"choice": "A+ ', "choice:", "choice: x\n", "[RESULT] ", "[RESULT] 4 ("]
    seeds += ['"[RESULT] 4 ', " ", "[", "*", '"', '{"choice": "A+"} ', 'x {"choice": "A+",} ', "```", "<think>", "\\"]
    seeds += [
        "\n",
        "I am sorry ",
        "\u200b",
        "好",
        "［ＲＥＳＵＬＴ］",
        '{"choice" "A+"}',
        "{}",
        "Score: ",
        "A+ or ",
        "</think>",
    ]
    texts = {seed: seed * (MEGABYTE // len(seed)) for seed in seeds}
    texts["a label, then spaces"] = "[RESULT] A" + " " * MEGABYTE + "or B"
    texts["one long score"] = "[RESULT] " + "4" * MEGABYTE
    texts["an object too broken to repair quickly"] = '{"analysis of A": "' + '"x" ' * 5_000 + '", "choice": "A+"}'
    return texts


def main() -> None:
    """Print the tables."""
    compare_rendering()
    objects = make_objects()
    base = seconds(lambda: [json.loads(reply) for reply in objects])
    wildbench, direct = PROTOCOLS["wildbench-pairwise"], PROTOCOLS["prometheus-direct"]
    dressed = {
        "plain object": objects,
        "in a fence": [f"My view:\n```json\n{reply}\n```" for reply in objects],
        "after prose": [f"Let me see.\n\n{reply}\n\nDone." for reply in objects],
        "trailing comma": [reply.replace('"\n}', '",\n}') for reply in objects],
        "after reasoning": [f"<think>Hm.</think>{reply}" for reply in objects],
    }
    print(
        f"{REPLIES} replies of {len(objects[0]) / 1000:.1f} kB; json.loads alone: {base / REPLIES * 1e6:.0f} µs each\n"
    )
    print(f"{'reply':<18}{'× json.loads':>13}")
    for name, replies in dressed.items():
        print(
            f"{name:<18}{seconds(lambda replies=replies: [read(wildbench, reply) for reply in replies]) / base:>13.1f}"
        )
    marked = ["Feedback: " + reply.replace("{", "").replace("}", "") + " [RESULT] 4" for reply in objects]
    print(f"{'marker':<18}{seconds(lambda: [read(direct, reply) for reply in marked]) / base:>13.1f}")
    costs = {
        name: max(seconds(lambda text=text, protocol=protocol: read(protocol, text)) for protocol in PROTOCOLS.values())
        for name, text in worst_texts().items()
    }
    worst = max(costs, key=lambda name: costs[name])
    print(f"\nworst of {len(costs)} texts of 1 MB, any protocol: {costs[worst]:.2f} s ({worst!r} repeated)")


if __name__ == "__main__":
    main()
