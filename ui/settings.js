// The buttons of an endpoint act on the server; a trial may take a while and says so.
element.addEventListener('click', ({ target }) => {
  const button = target.closest('button[data-do]');
  if (!button) return;
  if (button.dataset.do === 'try') {
    button.textContent = 'Trying …';
    button.disabled = true;
  }
  trigger('act', { what: button.dataset.do, name: button.dataset.name });
});
