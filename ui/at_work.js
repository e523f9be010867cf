// A line at the top of the page while the server is at work: whatever asked for it, no page is silent for a second.
(() => {
  const MOMENT = 500; // milliseconds that need no sign
  const QUIET = /review_prepare|heartbeat/; // nobody waits for these
  const ASKS = /\/gradio_api\/(run\/|upload\?|queue\/data)/;
  let open = 0;
  let timer = null;
  const show = (words) => {
    const sign = document.querySelector("#at-work") ?? document.createElement("div");
    sign.id = "at-work";
    sign.hidden = !words;
    sign.innerHTML = `<span class="unseen" role="status">${words}</span>`;
    document.body.append(sign);
  };
  const begin = () => {
    open += 1;
    if (open === 1) timer = setTimeout(show, MOMENT, "Working …");
    let ended = false;
    return () => {
      if (ended) return;
      ended = true;
      open -= 1;
      if (open) return;
      clearTimeout(timer);
      if (document.querySelector("#at-work")) show("");
    };
  };
  const fetch = window.fetch;
  window.fetch = async (asked, options) => {
    const address = String(asked?.url ?? asked);
    if (!ASKS.test(address) || QUIET.test(address)) return fetch(asked, options);
    const end = begin();
    // The answers of the queue come as one stream, which gradio leaves when it waits for nothing more.
    const left = address.includes("queue/data") ? asked.signal : null;
    left?.addEventListener("abort", end);
    try {
      const answer = await fetch(asked, options);
      if (!left) end();
      return answer;
    } catch (error) {
      end();
      throw error;
    }
  };
})();
