// The tabs: their panels are all on the page, because gradio loses what happens to boxes that are not.
const panels = element.closest(".tab-group");
const buttons = [...element.querySelectorAll("[role=tab]")];
for (const button of buttons) {
  const panel = document.getElementById(button.getAttribute("aria-controls"));
  panel.setAttribute("role", "tabpanel");
  panel.setAttribute("aria-labelledby", button.id);
}
const show = (name) => {
  panels.dataset.tab = name;
  for (const button of buttons) {
    const chosen = button.dataset.name === name;
    button.setAttribute("aria-selected", chosen);
    button.tabIndex = chosen ? 0 : -1;
    document.getElementById(button.getAttribute("aria-controls")).hidden = !chosen;
  }
};
const choose = (button) => { props.value = button.dataset.name; show(props.value); };
element.addEventListener("click", ({ target }) => {
  const button = target.closest("[role=tab]");
  if (button) choose(button);
});
element.addEventListener("keydown", (event) => {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  const at = buttons.indexOf(event.target);
  if (!step || at < 0) return;
  const next = buttons[(at + step + buttons.length) % buttons.length];
  choose(next);
  next.focus();
});
watch("value", () => show(props.value));
watch("marked", () => {
  for (const button of buttons) button.classList.toggle("marked", props.marked === button.dataset.name);
});
show(props.value);
