"""The colours of pages: in one place, and strong enough to be read in the light and in the dark."""

import re
from math import cos, radians, sin
from pathlib import Path
from typing import Final

import pytest

import facho.web
from facho.core.event_types import EventType, Level
from facho.web.words.colours import event_colour

STYLES: Final = Path(facho.web.__file__).parent / "static" / "facho"
Rgb = tuple[float, float, float]
# Of the admin around our pages: what is behind a card, and behind a lane of the timeline.
CARDS: Final = {"light": "oklch(100% 0 0)", "dark": "oklch(21% 0.034 264.7)"}
LANES: Final = {"light": "oklch(96.7% 0.003 264.5)", "dark": "oklch(27.8% 0.033 256.8)"}
LIGHT, DARK = (STYLES / "colours.css").read_text().split(".dark {")
COLOURS: Final = {
    name: dict(re.findall(r"--fd-([\w-]+): (oklch\([^)]*\))", text))
    for name, text in (("light", LIGHT), ("dark", DARK))
}
MEANINGS: Final = ("red", "green", "orange", "blue")
DRAWN: Final = (*(f"{name}-full" for name in MEANINGS), *(f"series-{number}" for number in (1, 2, 3, 4)))


def linear_rgb(colour: str, behind: str) -> Rgb:
    """Return the light of a colour, mixed with what is behind it as far as it is transparent."""
    lightness, chroma, hue, opacity = numbers(colour)
    a, b = polar(chroma, hue)
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    rgb = (
        4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short,
    )
    clear = [min(1.0, max(0.0, part)) for part in rgb]
    if opacity == 1:
        return clear[0], clear[1], clear[2]
    # Browsers mix what is shown, not its light.
    below = linear_rgb(behind, behind)
    mixed = [
        (opacity * over ** (1 / 2.2) + (1 - opacity) * under ** (1 / 2.2)) ** 2.2
        for over, under in zip(clear, below, strict=True)
    ]
    return mixed[0], mixed[1], mixed[2]


def numbers(colour: str) -> tuple[float, float, float, float]:
    found = [float(number) for number in re.findall(r"[\d.]+", colour)]
    lightness, chroma, hue, opacity = (*found, 1.0)[:4]
    return lightness / 100, chroma, hue, opacity


def polar(chroma: float, hue: float) -> tuple[float, float]:
    return chroma * cos(radians(hue)), chroma * sin(radians(hue))


def contrast(one: str, other: str, behind: str) -> float:
    def luminance(colour: str) -> float:
        red, green, blue = linear_rgb(colour, behind)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", COLOURS)
@pytest.mark.parametrize("meaning", MEANINGS)
def test_a_badge_can_be_read(theme: str, meaning: str) -> None:
    found = COLOURS[theme]
    assert contrast(found[meaning], found[f"{meaning}-back"], CARDS[theme]) >= 4.5
    assert contrast(found[meaning], CARDS[theme], CARDS[theme]) >= 4.5


@pytest.mark.parametrize("theme", COLOURS)
@pytest.mark.parametrize("name", DRAWN)
def test_a_drawing_stands_out(theme: str, name: str) -> None:
    for behind in (CARDS[theme], LANES[theme]):
        assert contrast(COLOURS[theme][name], behind, behind) >= 2.9


def test_colours_are_chosen_in_one_place() -> None:
    others = (path for path in STYLES.glob("*.css") if path.name != "colours.css")
    elsewhere = [path.name for path in others if "oklch" in path.read_text()]
    assert elsewhere == []


@pytest.mark.parametrize(
    ("what", "level", "colour"),
    [
        ("offline", Level.INFO, "danger"),
        ("online", Level.INFO, "success"),
        (EventType.OLT_BACK, Level.INFO, "success"),
        (EventType.OLT_SUSPENDED, Level.ERROR, "danger"),
        (EventType.PLAN_ADJUSTED, Level.INFO, "info"),
    ],
)
def test_an_event_has_the_colour_of_what_it_means(what: str, level: str, colour: str) -> None:
    assert event_colour(what, level) == colour
