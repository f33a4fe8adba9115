"""How good a layer is. `free_checks.py` turns hopeless graphs down before anything trains."""

from evonorm.fitness.free_checks import FREE_CHECKS as FREE_CHECKS
from evonorm.fitness.free_checks import Screened as Screened
from evonorm.fitness.free_checks import screen as screen
