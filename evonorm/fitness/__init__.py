"""How good a layer is, the paper's way. Read `evaluate.py` first: quality, stability, then training on each anchor.

`proxy_task.py` puts a layer into an anchor with its pictures, `quality.py` and `stability.py` are the two tests that
reject, `recipe.py` has everything that can be chosen, `stage_log.py` what a stopped evaluation goes on from;
`anchor_task.py` trains an anchor for its own sake. Not the paper's: `search_screen.py` is what a search asks in the
driver before anything trains. `free_checks.py` turns hopeless graphs down, `bend.py` and `depth_signal.py` those that a
deep net has no use for; `ladder.py` turns the rest down as cheaply as it can. `families.py` tells which layers are one
idea, `costs.py` what a layer costs whoever uses it.
"""

from evonorm.fitness.anchor_task import AnchorSettings as AnchorSettings
from evonorm.fitness.costs import COSTS as COSTS
from evonorm.fitness.costs import Priced as Priced
from evonorm.fitness.costs import cost_front as cost_front
from evonorm.fitness.costs import cost_named as cost_named
from evonorm.fitness.depth_signal import LARGEST_GROWTH as LARGEST_GROWTH
from evonorm.fitness.depth_signal import LARGEST_LIKENESS as LARGEST_LIKENESS
from evonorm.fitness.depth_signal import DepthSignal as DepthSignal
from evonorm.fitness.depth_signal import depth_signal as depth_signal
from evonorm.fitness.depth_signal import reject_by_depth as reject_by_depth
from evonorm.fitness.evaluate import TESTS as TESTS
from evonorm.fitness.evaluate import evaluate as evaluate
from evonorm.fitness.evaluate import number_of_threads as number_of_threads
from evonorm.fitness.families import Family as Family
from evonorm.fitness.families import FamilyStory as FamilyStory
from evonorm.fitness.families import families as families
from evonorm.fitness.families import family_stories as family_stories
from evonorm.fitness.free_checks import screen as screen
from evonorm.fitness.ladder import accuracy_now as accuracy_now
from evonorm.fitness.ladder import running_loss as running_loss
from evonorm.fitness.proxy_task import ProxyTask as ProxyTask
from evonorm.fitness.quality import passes_quality as passes_quality
from evonorm.fitness.recipe import FitnessRecipe as FitnessRecipe
from evonorm.fitness.recipe import QualityRecipe as QualityRecipe
from evonorm.fitness.recipe import Rung as Rung
from evonorm.fitness.recipe import StabilityRecipe as StabilityRecipe
from evonorm.fitness.search_screen import create_screen as create_screen
from evonorm.fitness.stability import StabilityReading as StabilityReading
from evonorm.fitness.stability import ascend_gradient_norm as ascend_gradient_norm
from evonorm.fitness.stability import passes_stability as passes_stability
from evonorm.fitness.stage_log import StageLog as StageLog
from evonorm.journal import Progress as Progress
