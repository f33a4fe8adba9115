import functools
import struct
import sys

import pytest

from evonorm.cli import main
from evonorm.pictures import png
from evonorm.pictures.chart_frame import Axes
from evonorm.pictures.charts import line_chart
from evonorm.report import write_report
from tests.report.synthetic_run import write_run

resvg_py = pytest.importorskip("resvg_py", reason="PNG files need the extra 'report'")


@pytest.fixture(autouse=True)
def ask_again():
    """Nobody's answer about this machine outlives a test that changes the machine."""
    png._family.cache_clear()
    yield
    png._family.cache_clear()


def no_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "resvg_py", None)


def no_fonts(monkeypatch):
    monkeypatch.setattr(resvg_py, "svg_to_bytes", functools.partial(resvg_py.svg_to_bytes, skip_system_fonts=True))


def with_fonts():
    if png.why_no_png() is not None:
        pytest.skip(png.why_no_png())


def size(picture):
    assert picture[:8] == b"\x89PNG\r\n\x1a\n"
    return struct.unpack(">II", picture[16:24])


def test_every_figure_is_also_a_png(tmp_path):
    with_fonts()
    write_run(tmp_path, "night", 60, scored_share=0.4)
    folder = write_report(tmp_path, "night").parent / "figures"
    pictures = {path.stem: path.read_bytes() for path in folder.glob("*.png")}
    assert set(pictures) == {path.stem for path in folder.glob("*.svg")}
    assert {size(picture)[0] for picture in pictures.values()} == {1000}


def test_text_is_in_the_picture():
    with_fonts()
    svg = line_chart("chart", [], Axes("steps", "accuracy (%)"))
    seen = png.png_of(svg)
    assert seen != png.png_of(svg.replace("accuracy (%)", ""))
    assert seen != png.png_of(svg.replace("steps", "hours"))


@pytest.mark.parametrize(("lack", "words"), [(no_package, r"evonorm\[report\]"), (no_fonts, "fonts-dejavu")])
def test_without_it_the_report_is_written_and_no_old_picture_stays(tmp_path, monkeypatch, capsys, lack, words):
    write_run(tmp_path, "night", 20)
    folder = write_report(tmp_path, "night").parent / "figures"
    (folder / "funnel.png").write_bytes(b"of an earlier report")
    lack(monkeypatch)
    png._family.cache_clear()
    monkeypatch.setattr(sys, "argv", ["evonorm", "report", "night", "--runs", str(tmp_path)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    said = capsys.readouterr().out
    assert "without PNG files: " in said
    assert not list(folder.glob("*.png"))
    assert (folder / "funnel.svg").exists()
    with pytest.raises(png.NoPngError, match=words):
        png.png_of("<svg/>")


def test_a_drawing_may_be_a_png(tmp_path, monkeypatch):
    with_fonts()
    monkeypatch.setattr(sys, "argv", ["evonorm", "draw", "evonorm-b0", str(tmp_path / "b0.png")])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    assert min(size((tmp_path / "b0.png").read_bytes())) > 300
