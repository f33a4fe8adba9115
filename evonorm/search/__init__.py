"""Decides which graph to try next. Numbers and graphs only, no tensors.

Read `evolution.py` first; `tournament.py` picks parents, `population.py` forgets the old ones, `random_search.py` is
the paper's baseline. `search.py` is the interface `ask` / `tell` with its two orders, `recipe.py` the recipe's table,
`screening.py` what is known of a graph before a worker sees it, `proposals.py` where graphs come from. What goes beyond
the paper is in `variants/`.
"""

from evonorm.journal import Proposal as Proposal
from evonorm.search.evolution import Evolution as Evolution
from evonorm.search.population import Cost as Cost
from evonorm.search.population import Member as Member
from evonorm.search.population import Population as Population
from evonorm.search.proposals import new_child as new_child
from evonorm.search.random_search import RandomSearch as RandomSearch
from evonorm.search.recipe import SearchRecipe as SearchRecipe
from evonorm.search.screening import Screen as Screen
from evonorm.search.screening import Screened as Screened
from evonorm.search.screening import reject_by_form as reject_by_form
from evonorm.search.search import Search as Search
from evonorm.search.search import reference_graph as reference_graph
from evonorm.search.tournament import pareto_front as pareto_front
from evonorm.search.tournament import tournament_winner as tournament_winner
