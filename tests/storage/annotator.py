"""A process that annotates a study until it is finished, and prints each verdict once it is saved.

    python annotator.py DATABASE STUDY NAME SEED ABANDONS

With ABANDONS it now and then lets a claim run out, as somebody who closes the laptop does.
"""

from __future__ import annotations

import random
import sys
import time

from judge.domain import Claim, ClaimError
from storage.store import Store
from storage.verdicts import Submission


def main(database: str, study: str, name: str, seed: str, abandons: str) -> None:
    chance = random.Random(f"{name}{seed}")
    store = Store.open(database)
    while True:
        found = store.claim_next(study, name)
        if not isinstance(found, Claim):
            if found.why == "finished":
                return
            time.sleep(0.05)
            continue
        if abandons == "yes" and chance.random() < 0.2:
            time.sleep(chance.uniform(0, 3))  # around the time a claim lasts: some verdicts come late
        try:
            saved = store.save_verdict(found.token, Submission(chance.choice(["A", "tie", "B"])))
        except ClaimError:
            continue
        print(saved.verdict, found.item.id, saved.label, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
