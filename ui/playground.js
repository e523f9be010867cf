// A click copies a message, whose <pre> holds exactly its characters, or scrolls to a place in it.
// Places are not links: gradio sets a <base>, so a link to `#place` would load the page anew.
element.addEventListener("click", async ({ target }) => {
  const button = target.closest("button");
  if (button?.dataset.place) {
    const place = element.querySelector("#" + CSS.escape(button.dataset.place));
    const pane = place.closest("pre");
    pane.scrollTop += place.getBoundingClientRect().top - pane.getBoundingClientRect().top - 16;
    pane.focus({ preventScroll: true });
  } else if (button?.classList.contains("copy")) {
    await accord.copy(button.closest("section").querySelector("pre").textContent);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  }
});
