// Review in the browser: one item at a time, keys for everything, and no verdict lost on the way.
//
// A verdict goes through three states here: a draft (kept in this browser while one decides), waiting (sent, and
// sent again until the server has said that it is stored), saved. Only the server's word makes it saved.
const find = (selector) => element.querySelector(selector);
const all = (selector) => [...element.querySelectorAll(selector)];
const page = find("#review");
const RETRY = [1000, 2000, 4000, 8000];
const CONFIDENCE = ["not said", "low", "medium", "high"];
const SKIPS = ["I cannot judge this", "The question is unclear", "A response is broken", "It should not be shown"];

let asked = accord.asked();
let sheet = null; // what the server gave us to look at
let draft = {}; // what the annotator has decided so far
let view = "shown"; // shown, raw or difference
let busy = false; // one thing at a time: a second press changes nothing
let linked = accord.recall("linked") === "yes";
let since = 0; // when the item came into sight
let spent = 0; // seconds it was in sight before that

const who = () => accord.user() || (accord.recall("annotator") ?? "");
const say = (text) => {
  const banner = find(".banner");
  banner.textContent = text ?? "";
  banner.hidden = !text;
};
const sentence = (text) => text[0].toUpperCase() + text.slice(1) + (/[.?…]$/.test(text) ? "" : ".");
const number = (count) => count.toLocaleString("en");
const items = (count) => `${number(count)} item${count === 1 ? "" : "s"}`;
const duration = (seconds) => (seconds < 5400 ? `${Math.max(1, Math.round(seconds / 60))} min` : `${(seconds / 3600).toFixed(1)} h`);
const sleep = (time) => new Promise((done) => setTimeout(done, time));

// --- time in sight -----------------------------------------------------------------------------
const seconds = () => spent + (since ? (performance.now() - since) / 1000 : 0);
document.addEventListener("visibilitychange", () => {
  if (document.hidden) { spent = seconds(); since = 0; } else since = performance.now();
});

// --- asking the server -------------------------------------------------------------------------
// Asks for something that may be asked again without harm, until the server answers and can do it.
const ask = async (name, ...data) => {
  for (let attempt = 0; ; attempt += 1) {
    try {
      const answer = await accord.call(name, ...data);
      if (answer?.again) throw Object.assign(new Error(name), { told: answer.problem });
      if (attempt) say(null);
      return answer;
    } catch (error) {
      const told = error.told ? sentence(error.told) : "The server did not answer.";
      const waiting = name === "review_submit"
        ? `${told} Your verdict is kept in this browser and will be sent when it can be stored.`
        : `${told} Trying again.`;
      if (sheet) say(waiting); else showGate(made("p", waiting, { role: "alert" }));
      await sleep(RETRY[Math.min(attempt, RETRY.length - 1)]);
    }
  }
};

const once = async (work) => {
  if (busy) return;
  busy = true;
  try { await work(); } finally { busy = false; }
};

// --- drafts and verdicts on their way ------------------------------------------------------------
const draftName = () => `draft:${sheet.claim}`;
const keepDraft = () => accord.keep(draftName(), JSON.stringify({ ...draft, seconds: Math.round(seconds() * 10) / 10 }));
const waitingName = () => `waiting:${who()}`;
const recallJson = (name) => { try { return JSON.parse(accord.recall(name)); } catch { return null; } };

const send = async (waiting) => {
  accord.keep(waitingName(), JSON.stringify(waiting));
  const answer = await ask("review_submit", waiting.claim, waiting.sent, who());
  accord.keep(waitingName(), null);
  if (!answer.problem) accord.keep(`draft:${waiting.claim}`, null);
  return answer;
};

// --- showing ------------------------------------------------------------------------------------
const showGate = (...parts) => {
  page.dataset.state = "gate";
  find(".work").hidden = find(".after").hidden = true;
  find(".gate").hidden = false;
  find(".gate").replaceChildren(...parts);
};
const made = (tag, text, properties = {}) => Object.assign(document.createElement(tag), { textContent: text, ...properties });

const askName = () => {
  const form = made("form", "");
  const box = made("input", "", { name: "annotator", maxLength: 200, required: true, autocomplete: "nickname" });
  const label = made("label", "Your name ");
  label.append(box);
  form.append(
    made("h2", "Who is annotating?"),
    made("p", "Your verdicts are stored under this name. Use the same one each time."),
    label,
    made("button", "Start", { type: "submit", className: "submit" }),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!box.value.trim()) return;
    accord.keep("annotator", box.value.trim());
    window.location.reload();
  });
  showGate(form);
  box.focus();
};

const chooseStudy = (studies) => {
  const open = studies.filter((study) => !study.closed);
  if (open.length === 1) return window.location.replace(accord.address("/", { ...asked, study: open[0].name }));
  if (studies.length === 0) {
    const told = made("p", "The example studies were written for Accord; their verdicts are simulated.", { className: "muted" });
    told.setAttribute("role", "status");
    const load = made("button", "Load the example studies", { type: "button", className: "button" });
    load.addEventListener("click", () => accord.loadExamples(load, (words) => { told.textContent = words; }));
    return showGate(
      made("h2", "There is no study yet"),
      made("p", "A study holds the items to be judged. Make one under Studies, or import a file there."),
      made("a", "Go to Studies", { href: accord.address("/studies", {}), className: "button" }),
      load,
      told,
    );
  }
  const list = made("ul", "");
  for (const study of studies) {
    const entry = made("li", "");
    entry.append(
      made("a", study.name, { href: accord.address("/", { study: study.name }) }),
      made("span", ` ${items(study.items)}${study.closed ? " · closed" : ""}`, { className: "muted" }),
    );
    list.append(entry);
  }
  return showGate(made("h2", "Which study?"), list);
};

const showNothing = (given) => {
  const done = given.progress.skipped ? `, ${given.progress.skipped} skipped` : "";
  const last = sheet && (sheet.own || given.saved) ? () => once(() => load(sheet.item)) : null;
  showGate(
    made("h2", given.why === "finished" && given.progress.total ? "Finished" : "Nothing to do now"),
    made("p", given.nothing),
    made("p", `You have done ${number(given.progress.done)} of ${items(given.progress.total)}${done}.`, { className: "muted" }),
    made("button", "Look again", { type: "button", className: "button", onclick: () => once(() => load("")) }),
    ...(last ? [made("button", "Back to the last item", { type: "button", className: "button", onclick: last })] : []),
  );
};

const showProgress = () => {
  const { done, total } = sheet.progress;
  const pace = sheet.pace.seconds;
  const told = [`${number(done)} of ${number(total)}`];
  if (pace) told.push(`${Math.round(pace)} s each`, `about ${duration((total - done) * pace)} left`);
  find(".progress-text").textContent = told.join(" · ");
  find("progress").value = total ? done / total : 0;
  find(".team").textContent = `Team ${number(sheet.pace.given)} of ${number(sheet.pace.wanted)}`;
};

const showLabels = () => {
  const bar = find(".labels");
  bar.replaceChildren(...sheet.scale.map((point, index) => {
    const button = made("button", "", { type: "button", title: point.meaning });
    button.setAttribute("role", "radio");
    button.dataset.label = point.label;
    button.innerHTML = `${keyOf(index) ? `<kbd>${keyOf(index)}</kbd>` : ""}${point.chip}`;
    button.append(made("span", point.meaning, { className: "meaning" }));
    return button;
  }));
  page.style.setProperty("--labels", sheet.scale.length);
};

// One key a label: a tenth has the key after 9, as on the keyboard; labels beyond it are pressed.
const keyOf = (index) => (sheet.scale.length === 2 && sheet.sides.length === 2 ? "AB"[index] : "1234567890"[index]);

// Whether the annotator now says something else than what is stored.
const changed = () => ["label", "comment", "confidence"].some((part) => (draft[part] || "") !== (sheet.own[part] || ""));

const showDraft = () => {
  for (const button of all(".labels button")) {
    const chosen = button.dataset.label === draft.label;
    button.setAttribute("aria-checked", String(chosen));
    button.tabIndex = chosen || (!draft.label && button === button.parentNode.firstChild) ? 0 : -1;
  }
  find(".comment textarea").value = draft.comment ?? "";
  find(".confidence").textContent = CONFIDENCE[draft.confidence ?? 0];
  find(".submit").firstChild.textContent = !sheet.own ? "Submit " : changed() ? "Change " : "Next ";
  find(".submit").disabled = !draft.label;
};

const blank = (text) => (text ? "This response has nothing but white space." : "This response is empty.");
const showTexts = async () => {
  const panes = all(".pane > .text");
  if (view === "difference") {
    const shown = await ask("review_difference", sheet.claim, who());
    if (shown.problem) { view = "shown"; return say(shown.problem); }
    shown.sides.forEach((markup, index) => { panes[index].innerHTML = markup; });
  } else {
    sheet.sides.forEach((side, index) => {
      // White space is shown as it came to whoever asks for the raw text.
      if (!(view === "shown" ? side.raw.trim() : side.raw)) panes[index].replaceChildren(made("p", blank(side.raw), { className: "muted" }));
      else if (view === "shown") panes[index].innerHTML = side.shown;
      else {
        const text = made("pre", side.raw, { className: "raw" });
        panes[index].replaceChildren(text);
      }
    });
  }
  for (const button of all("[data-do=raw], [data-do=difference]")) {
    button.setAttribute("aria-pressed", String(button.dataset.do === view));
  }
};

const showPrompt = async () => {
  const pane = find(".prompt-pane");
  const open = accord.recall("prompt") === "open";
  pane.hidden = !open;
  find(".actions [data-do=prompt]").setAttribute("aria-pressed", String(open));
  if (!open) return;
  const claim = sheet.claim;
  const shown = await ask("review_prompt", claim, who());
  if (sheet.claim === claim) pane.lastElementChild.innerHTML = shown.prompt ?? "";
  if (shown.problem) say(shown.problem);
};

// Without an item on the screen there is nothing that a banner could stand above.
const showProblem = (problem) => (sheet ? say(problem) : showGate(
  made("h2", "This cannot be shown"),
  made("p", sentence(problem)),
  made("a", "Choose a study", { href: accord.address("/", {}), className: "button" }),
));

const show = async (given, { push = true } = {}) => {
  if (given.problem) return showProblem(given.problem);
  if (given.choose) return chooseStudy(given.choose);
  if (given.nothing) return showNothing(given);
  const another = sheet?.claim !== given.claim;
  sheet = given;
  if (another && document.querySelector("#judge-here .live, #judge-here .problem")) trigger("clear", {});
  if (another) { view = "shown"; spent = 0; since = document.hidden ? 0 : performance.now(); }
  const kept = recallJson(draftName());
  if (another && kept?.seconds && !sheet.own) spent = kept.seconds;
  draft = sheet.draft ?? kept ?? (sheet.own ? { ...sheet.own } : {});
  page.dataset.state = sheet.own ? "done" : "open";
  page.classList.toggle("direct", sheet.sides.length === 1);
  find(".gate").hidden = true;
  find(".work").hidden = false;
  find(".question-text").innerHTML = sheet.question;
  const history = find(".history");
  history.hidden = sheet.earlier < 1;
  history.open = false;
  history.querySelector("summary").textContent = `${sheet.earlier} earlier turn${sheet.earlier === 1 ? "" : "s"}`;
  history.querySelector("div").innerHTML = sheet.history;
  find(".beside").innerHTML = sheet.beside;
  find(".beside").hidden = !sheet.beside;
  find(".pane.side-a h2").textContent = sheet.sides.length === 1 ? "Response" : "A";
  find(".pane.side-b").hidden = find(".switch").hidden = sheet.sides.length === 1;
  all(".pane .model").forEach((place, index) => { place.textContent = sheet.models?.[index] ?? ""; });
  find("[data-do=judge]").disabled = !sheet.judgeable;
  find("[data-do=flag]").setAttribute("aria-pressed", String(sheet.flagged));
  find("[data-do=link]").setAttribute("aria-pressed", String(linked));
  for (const part of all(".context > *")) part.classList.remove("unfolded");
  find(".after").hidden = !sheet.reveal;
  find(".after").innerHTML = sheet.reveal ?? "";
  showProgress();
  showLabels();
  showDraft();
  await showTexts();
  if (another) for (const pane of [...all(".pane > .text"), find(".question")]) pane.scrollTop = 0;
  if (another) { find(".panes").scrollLeft = 0; window.scrollTo({ top: 0, behavior: "instant" }); markPane(); }
  const place = accord.address("/", { study: asked.study, item: sheet.item });
  if (push && another && asked.item) window.history.pushState({}, "", place);
  else window.history.replaceState({}, "", place);
  asked = accord.asked();
  if (another && !sheet.own) prepareNext();
  await showPrompt();
};

// While this item is read the server makes the next one ready; when it cannot, nothing is lost but a moment.
const prepareNext = () => {
  const claim = sheet.claim;
  setTimeout(() => accord.call("review_prepare", claim, who()).catch(() => {}), 200);
};

const stamp = (moment) => new Date(moment).toLocaleTimeString([], { hour12: false });
const showSaved = (answer) => {
  if (!answer.saved) return;
  find(".saved").textContent = `Saved ${stamp(answer.saved)}`;
  find(".saved").title = new Date(answer.saved).toLocaleString([], { dateStyle: "full", timeStyle: "long" });
};

const load = async (item, options) => {
  say(null);
  const waiting = recallJson(waitingName()); // a verdict that was on its way when the page was left
  const answer = waiting && await send(waiting);
  if (answer && !answer.problem) {
    showSaved(answer);
    return show(answer, options);
  }
  await show(await ask("review_open", asked.study ?? "", who(), item ?? ""), options);
  if (answer) tell(`Your last verdict could not be stored. ${sentence(answer.problem)}`);
  return undefined;
};

// Says something above the item, or under what stands in its place.
const tell = (text) => {
  if (find(".work").hidden) find(".gate").append(made("p", text, { role: "alert", className: "problem" }));
  else say(text);
};

// --- what one can do ------------------------------------------------------------------------------
const choose = (label) => {
  if (busy) return; // the verdict before is on its way; this one would be for an item not yet seen
  draft.label = label;
  keepDraft();
  showDraft();
};

const openPanel = (...parts) => {
  const panel = find("dialog");
  panel.firstElementChild.replaceChildren(...parts);
  panel.showModal();
  panel.scrollTop = 0; // the button that closes it has the focus, and lies at the end
};

const submit = () => once(async () => {
  if (sheet.own && !changed()) return show(await ask("review_step", sheet.claim, "on", who()));
  if (!draft.label) return say("Choose a verdict first.");
  say(null);
  find(".saved").textContent = "Saving …";
  const sent = {
    label: draft.label,
    comment: draft.comment ?? "",
    confidence: draft.confidence ?? 0,
    seconds: Math.round(seconds() * 10) / 10,
  };
  const answer = await send({ claim: sheet.claim, sent });
  find(".saved").textContent = "";
  showSaved(answer);
  await show(answer);
  // On a phone what the judges said lies below the responses.
  find(".after .reveal-line")?.scrollIntoView({ block: "nearest" });
  return undefined;
});

const step = (way) => once(async () => show(await ask("review_step", sheet.claim, way, who())));

const skip = () => {
  const form = made("form", "");
  const box = made("input", "", { maxLength: 500 });
  const label = made("label", "Or in your own words ");
  label.append(box);
  form.append(made("h2", "Why do you skip this item?"));
  SKIPS.forEach((reason, index) => {
    const button = made("button", "", { type: "button", className: "choice" });
    button.innerHTML = `<kbd>${index + 1}</kbd> `;
    button.append(reason);
    button.addEventListener("click", () => leave(reason));
    form.append(button);
  });
  form.append(label, made("button", "Skip", { type: "submit", className: "submit" }));
  const leave = (reason) => {
    find("dialog").close();
    once(async () => { say(null); await show(await ask("review_skip", sheet.claim, reason, who())); });
  };
  form.addEventListener("submit", (event) => { event.preventDefault(); leave(box.value); });
  form.addEventListener("keydown", (event) => {
    if (event.target !== box && SKIPS[event.key - 1]) { event.preventDefault(); leave(SKIPS[event.key - 1]); }
  });
  openPanel(form);
  form.querySelector("button").focus();
};

const flag = () => once(async () => {
  const kind = sheet.flagged ? "unflag" : "flag";
  const answer = await ask("review_remark", sheet.claim, kind, "", who());
  if (answer.problem) return say(answer.problem);
  sheet.flagged = !sheet.flagged;
  find("[data-do=flag]").setAttribute("aria-pressed", String(sheet.flagged));
  return undefined;
});

// The verdict on this item, or on the one before it when this one has none yet.
const undo = () => once(async () => {
  const last = sheet.own ? sheet : await ask("review_step", sheet.claim, "back", who());
  if (last.problem || !last.own) return say("There is no verdict of yours to undo.");
  const answer = await ask("review_undo", last.claim, who());
  if (!answer.problem) find(".saved").textContent = "Undone";
  return show(answer);
});

const switchView = async (wanted) => {
  if (wanted === "difference" && sheet.sides.length === 1) return say("There is one response, and nothing to compare.");
  view = view === wanted ? "shown" : wanted;
  return showTexts();
};

const turnPrompt = () => {
  accord.keep("prompt", accord.recall("prompt") === "open" ? null : "open");
  return showPrompt();
};

const turnLink = () => {
  linked = !linked;
  accord.keep("linked", linked ? "yes" : null);
  find("[data-do=link]").setAttribute("aria-pressed", String(linked));
};

const turnConfidence = () => {
  draft.confidence = ((draft.confidence ?? 0) + 1) % CONFIDENCE.length;
  keepDraft();
  showDraft();
};

const showGuidelines = async () => {
  const given = await ask("review_guidelines", asked.study ?? "");
  const body = made("div", "", { className: "markdown" });
  body.innerHTML = given.guidelines ?? "";
  openPanel(made("h2", "Guidelines"), body);
};

const showHelp = () => {
  const list = made("dl", "", { className: "keys" });
  const rows = [...sheet.scale.map((point, index) => [keyOf(index), point.meaning || point.label]).filter(([key]) => key),
    ...Object.entries(KEYS).map(([key, [, told]]) => [NAMES[key] ?? key.toUpperCase(), told])];
  for (const [key, told] of rows) {
    const term = made("dt", "");
    term.append(made("kbd", key));
    const row = made("div", "");
    row.append(term, made("dd", told));
    list.append(row);
  }
  openPanel(made("h2", "Keys"), list);
};

// Brings a reply into sight as it grows, until its beginning is in the upper half of the window; then one may scroll.
const followReply = (reply) => {
  const watcher = new MutationObserver(() => {
    if (!reply.querySelector(".live, .problem")) return;
    if (reply.getBoundingClientRect().top < window.innerHeight / 2) watcher.disconnect();
    else reply.scrollIntoView({ block: "start" });
  });
  watcher.observe(reply, { childList: true, subtree: true, characterData: true });
};

// The judge is asked about the item in sight; its reply appears under the bar, piece by piece.
const askJudge = async () => {
  if (!sheet.judgeable) return say("Give your own verdict first; then the judge may be asked.");
  const names = await ask("review_judges");
  const run = (judge) => {
    accord.keep("judge", judge);
    find("dialog").close();
    trigger("judge", { claim: sheet.claim, annotator: who(), judge });
    followReply(document.querySelector("#judge-here"));
  };
  if (names.length === 1) return run(names[0]);
  const form = made("form", "");
  const choice = made("select", "", { ariaLabel: "Judge" });
  choice.append(...names.map((name) => new Option(name, name, false, name === accord.recall("judge"))));
  form.append(made("h2", "Which judge?"), choice, made("button", "Ask it", { type: "submit", className: "submit" }));
  form.addEventListener("submit", (event) => { event.preventDefault(); run(choice.value); });
  openPanel(form);
  return choice.focus();
};

// One table makes the keys work, and writes the help: neither can be without the other.
const NAMES = { ArrowLeft: "←", ArrowRight: "→", Enter: "Enter" };
const KEYS = {
  Enter: [submit, "Submit the verdict, or go on"],
  ArrowLeft: [() => step("back"), "The item before"],
  ArrowRight: [() => step("on"), "The item after"],
  s: [skip, "Skip this item"],
  f: [flag, "Flag it for a second look"],
  u: [undo, "Take the last verdict back"],
  c: [() => find(".comment textarea").focus(), "Write a comment; Esc leaves it, Ctrl+Enter submits"],
  k: [turnConfidence, "Say how sure you are: low, medium, high"],
  r: [() => switchView("raw"), "The text as it came, or rendered"],
  d: [() => switchView("difference"), "What differs, word by word"],
  l: [turnLink, "Scroll both sides together"],
  j: [askJudge, "Ask a judge about this item, after your verdict"],
  p: [turnPrompt, "The exact prompt a judge is sent"],
  g: [showGuidelines, "The study’s guidelines"],
  "?": [showHelp, "This list; Esc closes it"],
};
const DOES = {
  submit, skip, flag, judge: askJudge, undo, link: turnLink, prompt: turnPrompt, confidence: turnConfidence,
  raw: () => switchView("raw"), difference: () => switchView("difference"),
  back: () => step("back"), on: () => step("on"), guidelines: showGuidelines, help: showHelp,
};

const pressed = (event) => {
  if (!element.isConnected) return document.removeEventListener("keydown", pressed);
  if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || !sheet || find(".work").hidden) return undefined;
  if (find("dialog").open || event.target.closest("input, textarea, select, [contenteditable=true]")) return undefined;
  // Enter on a button or link is that button's; a pane that scrolls keeps the arrows up and down.
  if (event.key === "Enter" && event.target.closest("a, summary, .causes button, .tools button, .copy")) return undefined;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const index = sheet.scale.findIndex((_, place) => keyOf(place)?.toLowerCase() === key || String(place + 1) === key);
  const action = index >= 0 ? () => choose(sheet.scale[index].label) : KEYS[key]?.[0];
  if (!action) return undefined;
  event.preventDefault();
  return action();
};
document.addEventListener("keydown", pressed);

element.addEventListener("click", async ({ target }) => {
  const button = target.closest("button");
  if (!button) return target.closest(".question, .beside")?.classList.toggle("unfolded");
  if (button.dataset.label) choose(button.dataset.label);
  else if (button.dataset.do) DOES[button.dataset.do]();
  else if (button.dataset.pane) showPane(Number(button.dataset.pane));
  else if (button.classList.contains("close")) find("dialog").close();
  else if (button.dataset.cause) {
    const answer = await ask("review_remark", sheet.claim, button.dataset.cause, button.dataset.judge, who());
    if (answer.problem) return say(answer.problem);
    for (const other of button.parentNode.querySelectorAll("button")) {
      other.setAttribute("aria-pressed", String(other === button));
    }
  } else if (button.classList.contains("copy")) {
    await accord.copy(button.closest("section.message").querySelector("pre").textContent);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  } else if (button.dataset.place) {
    find(`#${CSS.escape(button.dataset.place)}`)?.scrollIntoView({ block: "center" });
  }
});

const box = find(".comment textarea");
box.addEventListener("input", () => { draft.comment = box.value; keepDraft(); showDraft(); });
box.addEventListener("keydown", (event) => {
  if (event.key === "Escape") box.blur();
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); box.blur(); submit(); }
});

// Both sides scroll by the same share of their length, when wanted.
let leader = null;
for (const pane of all(".pane > .text")) {
  pane.addEventListener("scroll", () => {
    if (!linked || (leader && leader !== pane)) return;
    leader = pane;
    const share = pane.scrollTop / Math.max(1, pane.scrollHeight - pane.clientHeight);
    for (const other of all(".pane > .text")) {
      if (other !== pane) other.scrollTop = share * (other.scrollHeight - other.clientHeight);
    }
    clearTimeout(pane.rest);
    pane.rest = setTimeout(() => { leader = null; }, 100);
  }, { passive: true });
}

// On a phone one response is in sight at a time: swipe, or press A or B.
const panes = find(".panes");
const showPane = (index) => panes.scrollTo({ left: index * panes.clientWidth, behavior: "instant" });
const markPane = () => {
  const index = panes.clientWidth ? Math.round(panes.scrollLeft / panes.clientWidth) : 0;
  for (const button of all(".switch button")) {
    button.setAttribute("aria-pressed", String(Number(button.dataset.pane) === index));
  }
};
panes.addEventListener("scroll", markPane, { passive: true });

window.addEventListener("popstate", () => {
  asked = accord.asked();
  if (sheet && asked.item && asked.item !== sheet.item) once(() => load(asked.item, { push: false }));
});
window.addEventListener("beforeunload", () => { if (sheet && draft.label && !sheet.own) keepDraft(); });

if (!who()) askName();
else {
  once(async () => {
    await load(asked.item ?? "");
    if (sheet) takeTour(page, { made, openPanel });
  });
}
