// What the studies page's panels share: ways to other pages, moments in the reader's time, clicks that become events.
const asked = ({ dataset }) => ({ study: dataset.study, item: dataset.item, annotator: dataset.annotator });
// What was chosen for the columns of these files. It is asked for when nobody has chosen anything for a moment; an answer
// to earlier choices undoes none, and where it is the last to come, the choices as they are now are asked for again.
const chosen = { files: null, fields: new Map(), asking: 0 };
const answers = (table) => JSON.stringify(JSON.parse(table.dataset.fields || "[]")) === JSON.stringify([...chosen.fields]);
const askSoon = () => {
  clearTimeout(chosen.asking);
  chosen.asking = setTimeout(() => trigger("assign", { fields: [...chosen.fields] }), 250);
};
const keepChosen = (table, changing = null) => {
  if (table.dataset.mapping !== chosen.files) {
    chosen.files = table.dataset.mapping;
    chosen.fields.clear();
  }
  for (const choice of table.querySelectorAll("select")) {
    if (choice !== changing) choice.value = chosen.fields.get(choice.dataset.column) ?? choice.value;
  }
  table.toggleAttribute("data-chosen", chosen.fields.size > 0);
};
const choose = (table, changed) => {
  keepChosen(table, changed);
  // A field has one column: choosing another frees the one before. Only verdicts by rater may stand in several.
  for (const other of table.querySelectorAll("select")) {
    if (other !== changed && other.value === changed.value && changed.value !== "label:") other.value = "";
    chosen.fields.set(other.dataset.column, other.value);
  }
  showChosen();
};
const showChosen = () => {
  clearTimeout(chosen.asking);
  const table = element.querySelector("[data-mapping]");
  if (!table) {
    chosen.files = null;
    return;
  }
  keepChosen(table);
  if (chosen.fields.size && !answers(table)) askSoon();
  // What is chosen in the moment in which an answer takes the table's place is chosen all the same.
  table.onchange = ({ target }) => element.contains(table) || choose(table, target);
};
const dress = () => {
  showChosen();
  for (const link of element.querySelectorAll("[data-path]")) {
    const address = accord.address(link.dataset.path, asked(link));
    if (link.tagName === "A") link.href = address;
    else link.textContent = address;
  }
  accord.tellTimes(element, () => ({ dateStyle: "medium", timeStyle: "short" }));
  const goal = element.querySelector("[data-go]");
  if (goal) window.location.assign(accord.address(goal.dataset.go, asked(goal)));
};
dress();
watch("value", () => {
  dress();
  // On a phone what was opened lies below the list.
  const opened = element.querySelector("[data-opened]");
  if (opened && window.innerWidth < 900) opened.scrollIntoView({ block: "start" });
});
element.addEventListener("click", async ({ target }) => {
  const button = target.closest("button");
  if (!button) return;
  if (button.dataset.examples !== undefined) {
    accord.loadExamples(button, (words) => { button.nextElementSibling.textContent = words; });
  } else if (button.dataset.open !== undefined) {
    element.querySelectorAll("[aria-current]").forEach((other) => other.removeAttribute("aria-current"));
    button.setAttribute("aria-current", "true");
    trigger("open", { item: button.dataset.open });
  } else if (button.dataset.starts !== undefined) {
    trigger("turn", { starts: button.dataset.starts });
  } else if (button.dataset.do !== undefined) {
    const role = button.closest("tr")?.querySelector("[data-role]")?.value;
    trigger("act", { what: button.dataset.do, name: button.dataset.name, role });
  } else if (button.classList.contains("copy")) {
    const places = button.closest("[data-copied]").querySelectorAll("[data-path]");
    await accord.copy([...places].map((place) => place.textContent).join("\n"));
    const words = button.textContent;
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = words; }, 1500);
  }
});
element.addEventListener("change", ({ target }) => {
  // A role is changed by a button of its own: arrow keys alone may walk through the choices.
  if (target.dataset.role) {
    const changed = target.value !== target.dataset.role;
    target.parentElement.querySelector("button").hidden = !changed;
  }
  const table = target.closest("[data-mapping]");
  if (table) choose(table, target);
});
