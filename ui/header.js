// The top of every page: where one is, which study, who one is.
document.title = `${props.page} · Accord`;
const asked = accord.asked();
const study = asked.study ?? "";
for (const link of element.querySelectorAll("nav a")) {
  link.href = accord.address(link.dataset.path, { study });
}
element.querySelector("nav [aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" });
const choice = element.querySelector("select");
const fill = (names) => {
  const shown = names.includes(study) || !study ? names : [study, ...names];
  choice.replaceChildren(...shown.map((name) => new Option(name, name, false, name === study)));
  choice.closest("label").hidden = shown.length === 0;
  choice.title = study; // a long name does not fit
  if (!study) choice.prepend(Object.assign(new Option("Choose one", "", true, true), { disabled: true, hidden: true }));
};
choice.addEventListener("change", () => {
  window.location.assign(accord.address(props.path, { study: choice.value }));
});
accord.call("list_studies").then(fill).catch(() => fill(study ? [study] : []));
const who = element.querySelector(".who");
const signedIn = accord.user();
const name = signedIn || accord.recall("annotator");
who.textContent = name ?? "";
who.hidden = !name;
if (signedIn) {
  who.title = "Sign out";
  accord.call("open_pages").then((paths) => {
    for (const link of element.querySelectorAll("nav a")) {
      if (paths.includes(link.dataset.path)) link.hidden = false;
      else link.remove();
    }
  });
}
who.addEventListener("click", async () => {
  if (signedIn) await fetch(`${accord.root()}/logout`, { method: "POST" });
  accord.keep("annotator", null);
  window.location.assign(accord.address("/", { study }));
});
