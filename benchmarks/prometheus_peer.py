"""What prometheus-eval's own client takes for the same prompts; run inside an environment that has it.

python benchmarks/prometheus_peer.py URL PROMPTS.json CONCURRENCY
"""

import asyncio
import json
import os
import sys
import time
from pathlib import Path

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it looks for a newer list on the internet first
os.environ["OPENAI_API_KEY"] = "none"

from prometheus_eval.litellm import AsyncLiteLLM


def main() -> None:
    """Print the seconds and the processor's seconds that a gathered run takes, after a first one that warms it up."""
    url, prompts, concurrency = sys.argv[1], json.loads(Path(sys.argv[2]).read_bytes()), int(sys.argv[3])
    messages = [[{"role": "user", "content": prompt}] for prompt in prompts]
    # Its own limit of 100 requests a minute is lifted: what is compared is the work, not the waiting.
    model = AsyncLiteLLM("openai/m", batch_size=concurrency, requests_per_minute=10**9, api_base=url)
    asyncio.run(model.completions(messages[:concurrency]))
    start, worked = time.perf_counter(), time.process_time()
    replies = asyncio.run(model.completions(messages))
    took = time.perf_counter() - start, time.process_time() - worked
    if not all(replies):
        raise RuntimeError("some calls failed")
    print(*took)


if __name__ == "__main__":
    main()
