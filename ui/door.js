// The way from a page to the server's named doors, and what a page keeps in this browser.
window.accord = {
  // Gradio tells the address under which the app is served; a proxy may have put it under a path.
  root: () => (window.gradio_config?.root ?? window.location.origin).replace(/\/$/, ""),
  // Who is signed in; empty where nobody has to.
  user: () => window.gradio_config?.username ?? "",
  // A name that nobody can guess.
  random: () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join(""),
  // Calls a door and returns its answer; throws when the server is away or has a fault, with what it told of that.
  call: async (name, ...data) => {
    const answer = await fetch(`${accord.root()}/gradio_api/run/${name}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ data, session_hash: accord.session }),
      signal: AbortSignal.timeout(15000),
    });
    if (!answer.ok) {
      const told = await answer.json().then((body) => body.error, () => null);
      throw Object.assign(new Error(`${name}: ${answer.status}`), { told });
    }
    return (await answer.json()).data[0];
  },
  // What is in the address: ?study=…&item=…
  asked: () => Object.fromEntries(new URLSearchParams(window.location.search)),
  // Returns the address of a page with these questions; one that is empty is left out.
  address: (path, asked) => {
    const words = new URLSearchParams(Object.entries(asked).filter(([, value]) => value));
    return `${accord.root()}${path}${words.size ? `?${words}` : ""}`;
  },
  recall: (name) => { try { return localStorage.getItem(`accord:${name}`); } catch { return null; } },
  keep: (name, value) => {
    try {
      if (value === null) localStorage.removeItem(`accord:${name}`);
      else localStorage.setItem(`accord:${name}`, value);
    } catch { /* a browser that keeps nothing still works, without drafts */ }
  },
  // Loads the example studies and goes to the first of them; what goes wrong is told.
  loadExamples: async (button, tell) => {
    button.disabled = true;
    tell("Loading the example studies …");
    try {
      const { study, problem } = await accord.call("load_examples");
      if (study) return window.location.assign(accord.address("/", { study }));
      tell(problem);
    } catch {
      tell("The server did not answer. Nothing was changed; try again in a moment.");
    }
    button.disabled = false;
  },
  // Shows moments in the reader's own time zone, which the pointer tells; how they are written may depend on the moment.
  tellTimes: (place, written) => {
    for (const time of place.querySelectorAll("time[datetime]")) {
      const moment = new Date(time.dateTime);
      time.textContent = moment.toLocaleString([], written(moment));
      time.title = moment.toLocaleString([], { dateStyle: "full", timeStyle: "long" });
    }
  },
  // Copies text, also where the clipboard is closed to pages that come over plain http.
  copy: async (text) => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const box = Object.assign(document.createElement("textarea"), { value: text, style: "position: fixed" });
      document.body.append(box);
      box.select();
      document.execCommand("copy");
      box.remove();
    }
  },
};
// Paper is white: a dark page is light while it is printed.
matchMedia("print").addEventListener("change", ({ matches }) => {
  if (matches) accord.dark = document.body.classList.contains("dark");
  document.body.classList.toggle("dark", accord.dark && !matches);
});
// Names this page to Gradio, which makes a state of the whole app for each call that names none.
accord.session = accord.random();
// An invitation names its annotator in the address.
if (accord.asked().annotator) accord.keep("annotator", accord.asked().annotator);
// Tells this browser from others until it is closed, so that a key typed here serves nobody else.
if (!/(?:^|; )accord_visitor=/.test(document.cookie)) {
  document.cookie = `accord_visitor=${accord.random()}; path=/; SameSite=Strict`;
}
