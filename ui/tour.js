// Four steps for somebody who sees Review for the first time, in an example study; once left, they do not come back.
const TOUR = [
  [".panes", "Two responses, side by side", "Read the question, then both responses. Names are hidden and the sides are shuffled. R shows the text as it came, D the words that differ."],
  [".bar", "Say which is better", "Press 1 to 5 and Enter, or click. “Saved” appears when your verdict is stored, never before. U takes it back."],
  [".actions [data-do=prompt]", "See what a judge is asked", "P shows the exact prompt that an LLM judge is sent for this item. In the example studies the judges’ verdicts appear after yours."],
  [".status", "Then see how far you agree", "The pages at the top lead on: run a judge, make a study of your own, look at the numbers. The other verdicts here are simulated, and one of the two judges leans to what it reads first."],
];
const takeTour = (page, { made, openPanel }) => {
  if (accord.recall("toured") || !accord.asked().study?.startsWith("Example: ")) return;
  const panel = page.querySelector("dialog");
  const point = (place) => {
    page.querySelector(".pointed")?.classList.remove("pointed");
    if (place) page.querySelector(place).classList.add("pointed");
  };
  const end = () => { point(null); panel.classList.remove("tour"); accord.keep("toured", "yes"); };
  const go = (index) => {
    const [place, title, words] = TOUR[index];
    const back = made("button", "Back", { type: "button", disabled: index === 0, onclick: () => go(index - 1) });
    const last = index === TOUR.length - 1;
    const on = made("button", last ? "Start" : "Next", { type: "button", className: "submit" });
    on.onclick = () => (last ? panel.close() : go(index + 1));
    const buttons = made("p", "", { className: "steps" });
    buttons.append(back, on);
    const parts = [made("h2", title), made("p", words), made("p", `Step ${index + 1} of ${TOUR.length}`, { className: "muted" }), buttons];
    if (panel.open) panel.firstElementChild.replaceChildren(...parts);
    else openPanel(...parts);
    point(place);
    on.focus();
  };
  panel.classList.add("tour");
  panel.addEventListener("close", end, { once: true });
  go(0);
};
