// Keys press the buttons they are printed on; they are off while somebody types.
const keys = { s: "swap", r: "run", p: "present", Escape: "stop" };
const press = (event) => {
  if (!element.isConnected) return document.removeEventListener("keydown", press);
  if (event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, textarea, select, [contenteditable=true], [role=listbox]")) return;
  const button = document.getElementById(keys[event.key] ?? keys[event.key.toLowerCase()]);
  if (!button || button.disabled || !button.checkVisibility()) return;
  event.preventDefault();
  button.click();
};
document.addEventListener("keydown", press);
// For a room: large type, no editors. Nothing is reloaded, so a reply that is arriving goes on arriving.
document.addEventListener("click", ({ target }) => {
  const button = target.closest("#present");
  if (!button) return;
  // Inside gradio's own container: what stands outside it, its style sheets do not reach.
  const on = button.closest("main").firstElementChild.classList.toggle("presenting");
  button.textContent = on ? "Leave presentation" : "Present";
  button.setAttribute("aria-pressed", on);
});
