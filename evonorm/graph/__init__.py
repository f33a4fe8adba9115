"""The language of layers: a layer is a small graph of primitive functions of x. No torch in this room.

Read `primitives.py` first (the table), then `graph.py` (Node and Graph) and `formula.py` (text <-> graph).
`sampling.py` and `mutation.py` make new graphs as the paper does, `simplify.py` tells which are the same function,
`catalog.py` holds every layer that the paper names.
"""

from evonorm.graph.catalog import CATALOG as CATALOG
from evonorm.graph.catalog import Entry as Entry
from evonorm.graph.catalog import graph_of as graph_of
from evonorm.graph.formula import FormulaError as FormulaError
from evonorm.graph.graph import INITIAL_NODES as INITIAL_NODES
from evonorm.graph.graph import V0 as V0
from evonorm.graph.graph import V1 as V1
from evonorm.graph.graph import ZERO as ZERO
from evonorm.graph.graph import Graph as Graph
from evonorm.graph.graph import Node as Node
from evonorm.graph.graph import X as X
from evonorm.graph.mutation import mutate as mutate
from evonorm.graph.primitives import INDEX_SETS as INDEX_SETS
from evonorm.graph.primitives import PRIMITIVES as PRIMITIVES
from evonorm.graph.primitives import ROWS as ROWS
from evonorm.graph.primitives import Primitive as Primitive
from evonorm.graph.sampling import sample_graph as sample_graph
from evonorm.graph.sampling import with_dead_nodes as with_dead_nodes
from evonorm.graph.simplify import canonical_key as canonical_key
from evonorm.graph.simplify import simplify as simplify
