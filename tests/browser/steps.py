"""Steps that are taken on several pages."""

PATIENCE = 60_000  # milliseconds for a click or a page: the machines are shared and noisy
# Gradio writes a box's value once more right after the box has appeared: nobody types that early, but a test does.
TWO_FRAMES = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))"


def choose(page, label, option):
    page.get_by_label(label, exact=True).click()
    page.get_by_role("option", name=option, exact=True).click()


def unfold(page, title):
    button = page.get_by_role("button", name=title)
    button.click()
    page.locator(".gr-accordion").filter(has=button).locator("input, textarea").first.wait_for()
    page.evaluate(TWO_FRAMES)
