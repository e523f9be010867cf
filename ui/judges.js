// Buttons in markup: `data-do` acts on the server, `data-place` scrolls to a place, `copy` copies a message's text.
element.addEventListener('click', async ({ target }) => {
  const button = target.closest('button');
  if (!button) return;
  if (button.dataset.do) {
    const { do: what, run, name = '', page = '0' } = button.dataset;
    trigger('act', { what, run: Number(run ?? 0), name, page: Number(page) });
  } else if (button.dataset.place) {
    const place = button.closest('.reading, .prompt').querySelector('#' + CSS.escape(button.dataset.place));
    const pane = place.closest('pre');
    pane.scrollTop += place.getBoundingClientRect().top - pane.getBoundingClientRect().top - 16;
    pane.focus({ preventScroll: true });
  } else if (button.classList.contains('copy')) {
    await accord.copy(button.closest('section').querySelector('pre').textContent);
    button.textContent = 'Copied';
    setTimeout(() => { button.textContent = 'Copy'; }, 1500);
  }
});
const completeLinks = () => {
  for (const link of element.querySelectorAll('a[data-path]')) {
    link.href = accord.address(link.dataset.path, { study: link.dataset.study, item: link.dataset.item });
  }
};
completeLinks();
watch('value', completeLinks);
// New markup replaces the old every two seconds while a run is on: the focus stays on its button.
let focused = null;
element.addEventListener('focusin', ({ target }) => { focused = target.closest('[data-do]')?.dataset ?? null; });
element.addEventListener('focusout', ({ relatedTarget }) => { if (relatedTarget) focused = null; });
new MutationObserver(() => {
  if (!focused || document.activeElement !== document.body) return;
  const { do: what, run = '', name = '' } = focused;
  const same = ({ dataset }) => dataset.do === what && (dataset.run ?? '') === run && (dataset.name ?? '') === name;
  [...element.querySelectorAll('[data-do]')].find(same)?.focus({ preventScroll: true });
}).observe(element, { childList: true, subtree: true });
