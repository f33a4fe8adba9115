"""The colours of series, measured: far from each other for every kind of colour vision, and from the paper."""

import re
from itertools import combinations

import numpy as np
import pytest

from evonorm.report.templates import style_sheet

# What is left of linear red, green and blue without one kind of cone (Machado, Oliveira and Fernandes 2009).
VISION = {
    "all cones": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def schemes():
    """The variables of the style sheet for light and for dark pages."""
    light, dark = style_sheet().split("prefers-color-scheme: dark")
    return {
        name: dict(re.findall(r"--(\w+): (#\w{6})", part.split("* {")[0]))
        for name, part in (("light", light), ("dark", dark))
    }


def linear(colour):
    part = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    return np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)


def lab(light):
    share = XYZ @ np.clip(light, 0, 1) / XYZ.sum(axis=1)
    bent = np.where(share > 0.008856, np.cbrt(share), 7.787 * share + 16 / 116)
    return np.array([116 * bent[1] - 16, 500 * (bent[0] - bent[1]), 200 * (bent[1] - bent[2])])


def contrast(one, other):
    """As in the accessibility guidelines of the web: 3 is the least for lines, 4.5 for small text."""
    darker, lighter = sorted(float(XYZ[1] @ linear(colour)) + 0.05 for colour in (one, other))
    return lighter / darker


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_two_series_look_different_to_everybody(scheme, vision):
    colours = schemes()[scheme]
    seen = [lab(np.array(VISION[vision]) @ linear(colours[f"s{k}"])) for k in range(1, 7)]
    assert min(np.linalg.norm(a - b) for a, b in combinations(seen, 2)) > 15


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_lines_and_words_stand_out_from_the_paper_and_from_cards(scheme):
    colours = schemes()[scheme]
    for ground in ("paper", "card"):
        assert min(contrast(colours[f"s{k}"], colours[ground]) for k in range(1, 7)) > 3
        assert min(contrast(colours[each], colours[ground]) for each in ("ink", "soft", "link", "good", "bad")) > 4.5
