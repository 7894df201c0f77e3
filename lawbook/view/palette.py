"""Colours for people: what each code of a frame looks like, by the name of a world's palette. They mean nothing to a mind."""

from __future__ import annotations

import colorsys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

RGB = tuple[int, int, int]


def parse_rgb(text: str) -> RGB:
    """Read `#f93c31` as three numbers from 0 to 255."""
    return int(text[1:3], 16), int(text[3:5], 16), int(text[5:7], 16)


def mix(base: RGB, overlay: RGB, share: float) -> RGB:
    """Return `base` with `share` (0 to 1) of `overlay` in it."""
    return tuple(
        round(base_channel + (overlay_channel - base_channel) * share)
        for base_channel, overlay_channel in zip(base, overlay, strict=True)
    )  # type: ignore[return-value]


def format_css(colour: RGB) -> str:
    """Write a colour as `#f93c31`."""
    return "#{:02x}{:02x}{:02x}".format(*colour)


def is_dark(colour: RGB) -> bool:
    """Return whether white reads better on it than black (relative luminance of sRGB, without the gamma)."""
    return 0.299 * colour[0] + 0.587 * colour[1] + 0.114 * colour[2] < 140


@dataclass(frozen=True)
class Palette:
    """256 colours, and for grids drawn big what is written on a cell: code -> up to three characters while running, after a
    completion, and when it is over."""

    colours: tuple[RGB, ...]
    faces: Mapping[int, tuple[str, str, str]] = field(default_factory=dict)


# The sixteen colours of ARC-AGI-3.
_ARC = [
    "#ffffff",
    "#cccccc",
    "#999999",
    "#666666",
    "#333333",
    "#000000",
    "#e53aa3",
    "#ff7bcc",
    "#f93c31",
    "#1e93ff",
    "#88d8f1",
    "#ffdc00",
    "#ff851b",
    "#921231",
    "#4fcc30",
    "#a356d6",
]

# Ice, open water, the goal, the start, and somebody in a red coat.
_LAKE = ["#dcedf6", "#23527c", "#ffca3a", "#c3dcea", "#e4572e"]
_LAKE_FACES = {1: ("~~", "~~", "~~"), 2: ("★", "★", "★"), 4: ("•‿•", "^‿^", "×_×")}


# MiniGrid's red, green, blue, purple, yellow and grey; its keys, doors and goal, and the agent by where it looks.
_MINIGRID = ["#e53935", "#43a047", "#1e88e5", "#7027c3", "#fdd835", "#646464"]
_MINIGRID_FACES = {
    **{code: 3 * (("[ ]", "[-]", "[#]", "")[code % 4],) for code in range(72, 96)},
    **dict.fromkeys(range(96, 120), ("key", "key", "key")),
    172: ("★", "★", "★"),
    **{216 + way: (face, face, face) for way, face in enumerate("▶▼◀▲")},
}


# The Atari 2600 on an NTSC television: code 16 hue + 2 brightness, each hue from its darkest to its brightest; odd codes are grey.
_ATARI = [
    *(("#000000", "#ececec"), ("#484800", "#fcfc54"), ("#7c2c00", "#ecc860"), ("#901c00", "#fcbc74")),
    *(("#940000", "#fc9090"), ("#840064", "#ec8ce0"), ("#500084", "#d48cfc"), ("#140090", "#bc90fc")),
    *(("#000094", "#8490fc"), ("#001c88", "#84c8fc"), ("#003064", "#84e0fc"), ("#004030", "#84fcd4")),
    *(("#004400", "#90fc90"), ("#143c00", "#c8fc84"), ("#303800", "#e0ec7c"), ("#482c00", "#fce070")),
]
_ATARI_BRIGHTNESS = (0, 0.18, 0.35, 0.5, 0.64, 0.77, 0.89, 1)
_ATARI_GREYS = (0, 74, 111, 142, 170, 192, 214, 236)


@lru_cache
def get_palette(name: str) -> Palette:
    """Return the palette of that name; for one that nobody knows, colours that can be told apart."""
    match name:
        case "arc":
            return Palette(_fill_palette(_ARC))
        case "lake":
            return Palette(_fill_palette(_LAKE), _LAKE_FACES)
        case "minigrid":
            return Palette(_fill_palette([_compute_minigrid_colour(code) for code in range(240)]), _MINIGRID_FACES)
        case "atari":
            return Palette(tuple(_compute_atari_colour(code) for code in range(256)))
    return Palette(_fill_palette(["#22262e"]))


def _compute_minigrid_colour(code: int) -> str:
    """24 (object - 1) + 4 colour + state: a thing in its own colour on a dark floor; doors darker the more they are shut."""
    object_type, colour, state = code // 24 + 1, code // 4 % 6, code % 4
    if object_type == 1:
        return "#16181d"
    if object_type == 9:
        return "#ff851b"
    return format_css(mix(parse_rgb(_MINIGRID[colour]), (0, 0, 0), 0.2 * state if object_type == 4 else 0.0))


def _compute_atari_colour(code: int) -> RGB:
    hue, brightness = code // 16, code % 16 // 2
    grey = _ATARI_GREYS[brightness]
    if hue == 0 or code % 2:
        return grey, grey, grey
    darkest, brightest = _ATARI[hue]
    return mix(parse_rgb(darkest), parse_rgb(brightest), _ATARI_BRIGHTNESS[brightness])


def _fill_palette(initial_colours: list[str]) -> tuple[RGB, ...]:
    """The colours given, and then hues a golden angle apart, so that neighbouring codes differ."""
    remaining_colours = (
        tuple(round(255 * channel) for channel in colorsys.hls_to_rgb(0.618034 * code % 1, (0.62, 0.45, 0.75)[code % 3], 0.65))
        for code in range(len(initial_colours), 256)
    )
    return (*map(parse_rgb, initial_colours), *remaining_colours)  # type: ignore[arg-type]
