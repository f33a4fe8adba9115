"""The language of layers: a layer is a small graph of primitive functions of x. No torch in this room.

Read `primitive.py` first (one record with all faces of a function), then `primitives.py` (the table of `elementwise.py`
and `moments.py`, and how to add to it), `graph.py` (Node and Graph) and `formula.py` (text <-> graph; `templates.py`
knows where brackets go, `dialects.py` what others write differently). `numerics.py` is what logarithms, roots and
divisions add so as not to leave the numbers. `sampling.py` (random numbers: `draws.py`) and `mutation.py` make new
graphs as the paper does, `simplify.py` tells which are the same function, `catalog.py` holds every layer that the paper
names.
"""

from evonorm.graph.catalog import CATALOG as CATALOG
from evonorm.graph.catalog import Entry as Entry
from evonorm.graph.catalog import catalog_spelling as catalog_spelling
from evonorm.graph.catalog import graph_of as graph_of
from evonorm.graph.formula import FormulaError as FormulaError
from evonorm.graph.formula import Style as Style
from evonorm.graph.formula import written_nodes as written_nodes
from evonorm.graph.graph import INITIAL_NODES as INITIAL_NODES
from evonorm.graph.graph import V0 as V0
from evonorm.graph.graph import V1 as V1
from evonorm.graph.graph import ZERO as ZERO
from evonorm.graph.graph import Graph as Graph
from evonorm.graph.graph import Node as Node
from evonorm.graph.graph import X as X
from evonorm.graph.moments import IndexSet as IndexSet
from evonorm.graph.mutation import mutate as mutate
from evonorm.graph.mutation import mutate_locally as mutate_locally
from evonorm.graph.numerics import EPS as EPS
from evonorm.graph.numerics import LOG_SQRT_EPS as LOG_SQRT_EPS
from evonorm.graph.numerics import SMALLEST_DIVISOR as SMALLEST_DIVISOR
from evonorm.graph.primitive import Array as Array
from evonorm.graph.primitive import Primitive as Primitive
from evonorm.graph.primitive import unless_cancelled as unless_cancelled
from evonorm.graph.primitives import INDEX_SETS as INDEX_SETS
from evonorm.graph.primitives import PRIMITIVES as PRIMITIVES
from evonorm.graph.primitives import ROWS as ROWS
from evonorm.graph.primitives import register_index_set as register_index_set
from evonorm.graph.primitives import register_primitive as register_primitive
from evonorm.graph.primitives import searched_rows as searched_rows
from evonorm.graph.sampling import sample_graph as sample_graph
from evonorm.graph.sampling import with_dead_nodes as with_dead_nodes
from evonorm.graph.simplify import canonical_key as canonical_key
from evonorm.graph.simplify import simplify as simplify
from evonorm.graph.templates import ATOM as ATOM
from evonorm.graph.templates import PRODUCT as PRODUCT
from evonorm.graph.templates import SUM as SUM
from evonorm.graph.templates import Piece as Piece
from evonorm.graph.templates import Template as Template
