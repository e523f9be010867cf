// The agreement page: the address says what is shown; what is pressed changes the address, lists items or makes files.
const search = () => window.location.search;
// Gradio gives its pages a base address: what is relative would lead to another page.
const here = (words) => `${window.location.pathname}?${words}`;
const go = (change) => {
  const words = new URLSearchParams(search());
  change(words);
  window.location.assign(here(words));
};
const all = (selector) => [...element.querySelectorAll(selector)];
const completeLinks = () => {
  for (const link of all("[data-path]")) {
    const { study, item } = link.dataset;
    link.href = accord.address(link.dataset.path, { study, item });
  }
};
// The hour is enough for numbers of today; those kept from another day say which.
const CLOCK = { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" };
const DAY = { year: "numeric", month: "short", day: "numeric" };
const ofToday = (moment) => moment.toDateString() === new Date().toDateString();
const dress = () => {
  completeLinks();
  accord.tellTimes(element, (moment) => (ofToday(moment) ? CLOCK : { ...DAY, ...CLOCK }));
  for (const link of all("[data-view]")) {
    const words = new URLSearchParams(search());
    ["start", "view", "cell"].forEach((name) => words.delete(name));
    if (link.dataset.view) words.set("view", link.dataset.view);
    link.href = here(words);
  }
  // On a phone a cell stands behind the name of its column.
  for (const table of all(".table table")) {
    const heads = [...table.tHead.rows[0].cells].map((head) => head.textContent.trim());
    for (const row of table.tBodies[0].rows) {
      [...row.cells].forEach((each, place) => place && heads[place] && (each.dataset.head = heads[place]));
    }
  }
  const reader = element.querySelector("[name=reader]");
  if (reader) reader.value = accord.recall("reader") ?? accord.recall("annotator") ?? "";
  const second = element.querySelector("[data-compare='1']");
  if (second) {
    second.value = "1";
    compare();
  }
  comeBack();
};
// Whoever went to an item and comes back finds the page as it was left: at its place, with the cell that was pressed.
const LEFT_AT = "accord:agreement-left-at";
let returning = performance.getEntriesByType("navigation")[0]?.type === "back_forward";
window.addEventListener("pagehide", () => sessionStorage.setItem(LEFT_AT, `${window.scrollY} ${search()}`));
const comeBack = () => {
  if (!element.querySelector(".agreement-head")) return; // the page is not there yet
  const { cell, judge } = accord.asked();
  const [row, column] = (cell ?? "").split("-");
  const frame = cell && all("[data-judge]").find((each) => each.dataset.judge === judge);
  const pressed = frame && [...frame.querySelectorAll(`.cell[data-row="${Number(row)}"][data-column="${Number(column)}"]`)]
    .find((each) => each.getClientRects().length);
  if (pressed) listItems(pressed, !returning);
  const [top, ...left] = (sessionStorage.getItem(LEFT_AT) ?? "").split(" ");
  if (returning && left.join(" ") === search()) window.scrollTo(0, Number(top));
  returning = false;
};
const compare = () => {
  const pair = all("[data-compare]").map((choice) => Number(choice.value)).sort((a, b) => a - b);
  const name = pair[0] === pair[1] ? "same" : pair.join("-");
  for (const told of all("[data-pair]")) told.hidden = told.dataset.pair !== name;
};
const pick = (choice) => {
  for (const part of all("[data-of]")) part.hidden = part.dataset.of !== choice.value;
  const words = new URLSearchParams(search());
  words.set("judge", choice.selectedOptions[0].textContent);
  words.delete("cell");
  history.replaceState(history.state, "", here(words));
};
// Sorts by what the cells hold; what is undefined stays last either way.
const sort = (button) => {
  const head = button.closest("th");
  const down = head.getAttribute("aria-sort") === "ascending";
  const place = [...head.parentElement.children].indexOf(head);
  for (const other of head.parentElement.children) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  const body = head.closest("table").tBodies[0];
  const value = (row) => row.cells[place].dataset.value ?? row.cells[place].textContent;
  const rows = [...body.rows].sort((one, two) => {
    const [a, b] = [value(one), value(two)];
    if (a === "" || b === "") return (a === "") - (b === "");
    const order = isNaN(a) || isNaN(b) ? a.localeCompare(b) : a - b;
    return down ? -order : order;
  });
  body.append(...rows);
};
const save = (name, blob) => {
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
};
// A chart by itself, on the page's ground and with room around it: the colours that the page's stylesheet gave it are
// written into it, so that a dark one can be read on white paper as well.
const MARGIN = 16;
const groundOf = (part) => {
  const { backgroundColor } = getComputedStyle(part);
  const clear = backgroundColor === "transparent" || backgroundColor.endsWith(", 0)");
  return clear && part.parentElement ? groundOf(part.parentElement) : backgroundColor;
};
const copyChart = (figure) => {
  const chart = [...figure.querySelectorAll("svg.chart")].find((each) => each.getClientRects().length);
  const style = getComputedStyle(chart);
  const copy = chart.cloneNode(true);
  const [width, height] = chart.getAttribute("viewBox").split(" ").slice(2).map((side) => Number(side) + 2 * MARGIN);
  copy.setAttribute("viewBox", `${-MARGIN} ${-MARGIN} ${width} ${height}`);
  const ground = document.createElementNS(copy.namespaceURI, "rect");
  const fill = groundOf(chart);
  for (const [name, value] of Object.entries({ x: -MARGIN, y: -MARGIN, width, height, fill })) ground.setAttribute(name, value);
  copy.querySelector("desc").after(ground);
  // Alone, nothing in it can be pressed.
  copy.setAttribute("role", "img");
  for (const cell of copy.querySelectorAll(".cell")) ["tabindex", "role", "aria-pressed"].forEach((name) => cell.removeAttribute(name));
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  copy.style.maxWidth = copy.style.width = "";
  copy.style.color = style.color;
  copy.style.fontFamily = "IBM Plex Sans, system-ui, sans-serif";
  for (const side of ["--side-a", "--side-b"]) copy.style.setProperty(side, style.getPropertyValue(side));
  return { text: new XMLSerializer().serializeToString(copy), width, height };
};
const drawChart = async ({ text, width, height }) => {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = Object.assign(document.createElement("canvas"), { width: 2 * width, height: 2 * height });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
};
// A spreadsheet would run a cell that begins like a formula.
const FORMULA = /^[\s\p{C}]*[=+\-@\uff1d\uff0b\uff0d\uff20]/u;
const quote = (text) => `"${(FORMULA.test(text) && isNaN(text) ? `'${text}` : text).replaceAll('"', '""')}"`;
const writeCell = (each) => {
  const shown = each.cloneNode(true);
  shown.querySelectorAll(".unseen").forEach((part) => part.remove());
  return quote(each.dataset.value || shown.textContent.trim());
};
// Where numbers have intervals, their ends are columns of their own.
const writeTable = (table) => {
  const [head, ...rows] = [...table.rows].map((row) => [...row.cells]);
  const ends = head.map((_, place) => (rows.some((row) => row[place].dataset.low) ? ["low", "high"] : []));
  const name = (each) => each.textContent.trim();
  return [
    head.flatMap((each, place) => [name(each), ...ends[place].map((end) => `${name(each)} ${end}`)]).map(quote),
    ...rows.map((row) => row.flatMap((each, place) => [
      writeCell(each), ...ends[place].map((end) => quote(each.dataset[end] ?? "")),
    ])),
  ].map((cells) => cells.join(",")).join("\r\n");
};
const take = async ({ dataset }, figure) => {
  const name = `${dataset.name}.${dataset.take}`;
  if (dataset.take === "csv") save(name, new Blob([writeTable(figure.querySelector("table"))], { type: "text/csv" }));
  else if (dataset.take === "svg") save(name, new Blob([copyChart(figure).text], { type: "image/svg+xml" }));
  else save(name, await drawChart(copyChart(figure)));
};
const listItems = async (cell, comes = true) => {
  const frame = cell.closest("[data-judge]");
  const place = frame.querySelector(".cell-items");
  frame.querySelectorAll(".cell[aria-pressed]").forEach((other) => other.removeAttribute("aria-pressed"));
  cell.setAttribute("aria-pressed", "true");
  place.textContent = "Looking …";
  const { row, column } = cell.dataset;
  const words = new URLSearchParams(search());
  words.set("judge", frame.dataset.judge);
  words.set("cell", `${row}-${column}`);
  history.replaceState(history.state, "", here(words));
  try {
    const told = await accord.call("agreement_cell", search(), frame.dataset.judge, Number(row), Number(column));
    place.innerHTML = told.shown ?? `<p role="alert">${told.problem}</p>`;
    completeLinks();
    if (comes) place.scrollIntoView({ block: "nearest" });
  } catch {
    place.textContent = "The server did not answer. Press the cell again.";
  }
};
// Numbers that no longer hold stay as they are until somebody asks for the new ones, which are made meanwhile.
const renew = async () => {
  const told = element.querySelector("[data-renew]:not([data-asked])");
  if (!told) return;
  told.dataset.asked = "";
  try {
    const made = await accord.call("agreement_renew", search());
    told.textContent = made.ready ? "· verdicts came since" : "";
    if (!made.ready) return;
    const button = element.querySelector("[data-refresh]");
    button.textContent = "Show the new numbers";
    button.classList.add("primary");
  } catch {
    told.textContent = "· verdicts came since";
  }
};
const makeFile = async (button) => {
  const told = element.querySelector(".takes.files + .told");
  told.textContent = "Making the file …";
  try {
    const made = await accord.call("agreement_file", search(), button.dataset.file);
    told.innerHTML = made.problem ?? "";
    if (made.text === undefined) return;
    save(made.name, new Blob([made.text], { type: "text/plain" }));
    told.textContent = `${made.name} goes to your browser’s downloads.`;
  } catch {
    told.textContent = "The server did not answer. Nothing was saved; try again.";
  }
};
const keepCause = async (button) => {
  const told = button.parentElement.querySelector(".told");
  const reader = element.querySelector("[name=reader]").value;
  const place = {
    study: accord.asked().study,
    item: button.closest("[data-item]").dataset.item,
    judge: element.querySelector("[data-whose]").value,
  };
  try {
    const kept = await accord.call("agreement_cause", place, button.dataset.cause, reader);
    told.innerHTML = kept.problem ?? "";
    if (kept.problem) return;
    told.textContent = kept.told;
    element.querySelector("#causes-counted").innerHTML = kept.shown;
    for (const other of button.parentElement.querySelectorAll("button")) {
      other.setAttribute("aria-pressed", String(other === button));
    }
  } catch {
    told.textContent = "The server did not answer. Nothing was kept; try again.";
  }
};
const pressed = (target) => {
  const button = target.closest("button, .cell");
  if (!button) return;
  const { dataset } = button;
  if (button.classList.contains("cell")) listItems(button);
  else if (dataset.sort !== undefined) sort(button);
  else if (dataset.take) take(button, button.closest(".figure"));
  else if (dataset.file) makeFile(button);
  else if (dataset.examples !== undefined) accord.loadExamples(button, (words) => { button.nextElementSibling.textContent = words; });
  else if (dataset.cause) keepCause(button);
  else if (dataset.refresh !== undefined) window.location.reload();
  else if (dataset.start !== undefined) go((words) => words.set("start", dataset.start));
  else if (dataset.clear === "filters") {
    const filters = ["tag", "model", "annotators", "since", "until", "part", "start", "cell"];
    go((words) => filters.forEach((name) => words.delete(name)));
  } else if (dataset.clear !== undefined) {
    const { study, view, judge } = accord.asked();
    window.location.assign(accord.address("/agreement", { study, view, judge }));
  }
};
const shown = () => {
  dress();
  renew();
};
shown();
watch("value", shown);
element.addEventListener("click", ({ target }) => pressed(target));
element.addEventListener("keydown", (event) => {
  const cell = event.target.closest(".cell");
  if (!cell || !["Enter", " "].includes(event.key)) return;
  event.preventDefault();
  listItems(cell);
});
element.addEventListener("change", ({ target }) => {
  if (target.matches("[data-compare]")) compare();
  else if (target.matches("[data-pick]")) pick(target);
  else if (target.matches("[data-whose]")) {
    go((words) => {
      words.delete("start");
      words.set("judge", target.value);
    });
  } else if (target.matches("[name=reader]")) accord.keep("reader", target.value.trim() || null);
});
element.addEventListener("submit", (event) => {
  event.preventDefault();
  const form = event.target;
  go((words) => {
    words.delete("start");
    words.delete("cell");
    for (const control of form.elements) if (control.name) words.delete(control.name);
    for (const [name, value] of new FormData(form)) {
      const control = form.elements[name];
      if (value.trim() && value !== control.dataset?.usual) words.append(name, value);
    }
  });
});
