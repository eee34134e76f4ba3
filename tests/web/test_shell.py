"""What every page of the workbench has around it."""

from playwright.sync_api import expect


def test_the_page_opens_signed_in_and_asks_nobody_else(desk):
    desk.open("/")
    rail = desk.page.get_by_role("navigation", name="Projects")
    expect(rail.get_by_role("link", name="New project")).to_be_visible()
    assert desk.foreign == []


def test_the_theme_turns_at_once_and_is_remembered(desk):
    page = desk.open("/system")
    page.get_by_role("button", name="Dark theme").click()
    expect(page.locator("html")).to_have_attribute("data-mantine-color-scheme", "dark")
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-mantine-color-scheme", "dark")


def test_an_unknown_address_says_so_and_leads_home(desk):
    page = desk.page
    page.goto(desk.server.url + "/p/x/nowhere/at/all")
    expect(page.get_by_text("There is nothing at this address")).to_be_visible()
    page.get_by_role("link", name="All projects", exact=True).click()
    expect(page).to_have_url(desk.server.url + "/")


def test_what_is_asked_for_early_is_what_the_page_asks_for(desk):
    """Else it would be fetched for nothing: once events reach it, the page asks again by itself."""
    page = desk.open("/")
    page.wait_for_function(
        """() => {
          const asked = performance.getEntriesByType("resource")
            .filter((one) => one.initiatorType === "fetch").map((one) => one.name);
          const early = [...document.querySelectorAll("link[rel=preload]")].map((one) => one.href);
          return early.length > 0 && early.every((address) => asked.includes(address));
        }"""
    )
