"""axe-core on a page that is open: the rules of WCAG 2.1 A and AA."""

from importlib.resources import files

AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}


COLOURS = {"runOnly": ["color-contrast"]}


def list_barriers(page, colours_only=False):
    """Return the serious faults of a page, each with where it is; or of its colours, where nothing else has changed."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)
    found = page.evaluate("rules => axe.run(document, rules)", COLOURS if colours_only else RULES)
    assert len(found["passes"]) >= (1 if colours_only else 11)  # the rules did run
    return [
        f"{fault['id']}: {fault['help']}: {[node['html'][:160] for node in fault['nodes'][:4]]}"
        for fault in found["violations"]
        if fault["impact"] in ("serious", "critical")
    ]
