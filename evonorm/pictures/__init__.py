"""Everything that becomes SVG, MathML, PNG or a Markdown table: a graph's drawing, a formula, charts.

Read `markup.py` first (text that is safe to put into a page). `drawing.py`, on `layout.py`, draws a graph, `mathml.py`
typesets its formula. `charts.py` draws numbers inside a `chart_frame.py`, with `scales.py` for the axes and
`palette.py` for the colours, `genealogy.py` who came from whom;
`figure.py` is a chart with the numbers behind it, `png.py` turns SVG into pixels,
`markdown.py` writes tables.
"""

from evonorm.pictures.chart_frame import Axes as Axes
from evonorm.pictures.charts import Bar as Bar
from evonorm.pictures.charts import Cell as Cell
from evonorm.pictures.charts import DotRow as DotRow
from evonorm.pictures.charts import Line as Line
from evonorm.pictures.charts import Mark as Mark
from evonorm.pictures.charts import cost_chart as cost_chart
from evonorm.pictures.charts import dot_rows as dot_rows
from evonorm.pictures.charts import funnel as funnel
from evonorm.pictures.charts import histogram as histogram
from evonorm.pictures.charts import line_chart as line_chart
from evonorm.pictures.charts import scatter as scatter
from evonorm.pictures.drawing import ON_PAPER as ON_PAPER
from evonorm.pictures.drawing import graph_html as graph_html
from evonorm.pictures.drawing import graph_svg as graph_svg
from evonorm.pictures.figure import Figure as Figure
from evonorm.pictures.figure import file_name as file_name
from evonorm.pictures.figure import write_figures as write_figures
from evonorm.pictures.genealogy import Person as Person
from evonorm.pictures.genealogy import genealogy as genealogy
from evonorm.pictures.markdown import markdown_table as markdown_table
from evonorm.pictures.markup import Markup as Markup
from evonorm.pictures.markup import element as element
from evonorm.pictures.markup import joined as joined
from evonorm.pictures.mathml import formula_mathml as formula_mathml
from evonorm.pictures.palette import SERIES as SERIES
from evonorm.pictures.png import png_of as png_of
from evonorm.pictures.png import why_no_png as why_no_png
from evonorm.pictures.scales import padded as padded
