// The link to what is shown: deflated into the part of the address that is never sent to a server.
const LONGEST = 16000; // characters; mail and chat programs cut longer links
const LARGEST = 2000000; // bytes; what a hostile link may unfold to
const first = props.value;

const squeezed = async (bytes, format, most) => {
  const reader = new Blob([bytes]).stream().pipeThrough(format).getReader();
  const pieces = [];
  for (let size = 0; ; ) {
    const { done, value } = await reader.read();
    if (done) return new Uint8Array(await new Blob(pieces).arrayBuffer());
    size += value.length;
    if (size > most) throw new Error("too large");
    pieces.push(value);
  }
};
const pack = async (text) => {
  const bytes = await squeezed(new TextEncoder().encode(text), new CompressionStream("deflate-raw"), Infinity);
  const letters = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
};
const unpack = async (packed) => {
  const letters = atob(packed.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
  return new TextDecoder().decode(await squeezed(bytes, new DecompressionStream("deflate-raw"), LARGEST));
};
const address = (packed) => `${location.origin}${location.pathname}${location.search}${packed && `#p=${packed}`}`;
const say = (text) => { element.querySelector("[role=status]").textContent = text; };

// Opens what the address asks for: a link's state, or an item of a study.
const open = async () => {
  const { study = "", item = "" } = accord.asked();
  let state = "";
  try {
    if (location.hash.startsWith("#p=")) state = await unpack(location.hash.slice(3));
  } catch {
    state = "damaged";
  }
  // What is put into a box that gradio has not made yet is lost.
  while (props.boxes.some((box) => !document.querySelector(box))) await new Promise((done) => setTimeout(done, 50));
  trigger("open", { state, study, item });
};
addEventListener("hashchange", open);
open();

// The address follows what is shown, so that a reload loses nothing.
let waiting;
watch("value", () => {
  element.querySelector(".copy-state").hidden = true;
  say("");
  clearTimeout(waiting);
  waiting = setTimeout(async () => {
    const packed = props.value === first ? "" : await pack(props.value);
    history.replaceState(history.state, "", address(packed.length > LONGEST ? "" : packed));
  }, 400);
});

element.addEventListener("click", async ({ target }) => {
  if (target.matches(".copy-state")) {
    await accord.copy(props.value);
    say("Copied. Whoever gets it pastes it on this page, outside the boxes.");
  } else if (target.matches(".copy-link")) {
    const packed = await pack(props.value);
    const long = packed.length > LONGEST;
    element.querySelector(".copy-state").hidden = !long;
    if (!long) await accord.copy(address(packed));
    say(long ? `Too long for a link (${packed.length.toLocaleString("en")} characters).` : "Link copied.");
  }
});
document.addEventListener("paste", (event) => {
  if (!element.isConnected || event.target.closest?.("input, textarea, [contenteditable=true]")) return;
  const state = event.clipboardData?.getData("text/plain") ?? "";
  if (state.startsWith("{")) trigger("open", { state, study: "", item: "" });
});
