"""From a recipe to a result: wiring of a search, an evaluation, a training, a calibration.

Read `run_search.py` first, then `driver.py`, the loop of a search. `recipe.py` is a whole run as one TOML file
(`recipe_file.py` finds and changes it, `settings.py` reads tables into dataclasses, `budget.py` bounds it).
`session_words.py` says how it stands and `time_left.py` for how long, `plain_display.py` prints it.
`own_search.py` is the same from Python, for any function of a layer (`objective.py`), or to be asked and told.
`evaluation_task.py` is what a worker runs for a candidate, `trust.py` asks whose code that is, `references.py` what
named layers took, `surroundings.py` where a result comes from, `handshake.py` whether another machine may work for us.
`evaluate_layer.py` judges a person's idea, `judge.py` the best families of a search under fresh seeds; `verdicts.py`
tells what the tests say of every layer. `train_layer.py` trains a layer in any task by a `task_recipe.py`,
`train_list.py` many of them, and `rerank.py` the best of a search; `stored_training.py` looks at one that is not at its
end, `work_list.py` takes lists through workers. `calibrate.py`, `calibration_trial.py`,
`calibration_tables.py` and `rank_correlation.py` ask whether cheap stages order layers as expensive ones do, on
`known_layers.py`; `layer_timing.py`, on `timing.py`, times layers, and `device_bench.py` times them on a GPU.
`doctor.py` tells what is here and whether it works.
"""

from evonorm.runner.budget import Budget as Budget
from evonorm.runner.calibrate import LAYERS as LAYERS
from evonorm.runner.calibrate import TARGET_STEPS as TARGET_STEPS
from evonorm.runner.calibrate import Level as Level
from evonorm.runner.calibrate import cheap_trials as cheap_trials
from evonorm.runner.calibrate import kept_curves as kept_curves
from evonorm.runner.calibrate import known_curve as known_curve
from evonorm.runner.calibrate import levels_of as levels_of
from evonorm.runner.calibrate import measure as measure
from evonorm.runner.calibrate import passes_first_gate as passes_first_gate
from evonorm.runner.calibrate import random_survivors as random_survivors
from evonorm.runner.calibrate import target_trials as target_trials
from evonorm.runner.calibration_tables import CORRELATION_COLUMNS as CORRELATION_COLUMNS
from evonorm.runner.calibration_tables import LEVEL_COLUMNS as LEVEL_COLUMNS
from evonorm.runner.calibration_tables import Calibration as Calibration
from evonorm.runner.calibration_tables import Row as Row
from evonorm.runner.calibration_tables import cheap_anchors as cheap_anchors
from evonorm.runner.calibration_tables import correlation_rows as correlation_rows
from evonorm.runner.calibration_tables import level_rows as level_rows
from evonorm.runner.calibration_tables import score_columns as score_columns
from evonorm.runner.calibration_tables import score_rows as score_rows
from evonorm.runner.calibration_tables import what_if_rows as what_if_rows
from evonorm.runner.calibration_trial import Curve as Curve
from evonorm.runner.calibration_trial import Trial as Trial
from evonorm.runner.device_bench import GPU_DTYPES as GPU_DTYPES
from evonorm.runner.device_bench import DeviceBench as DeviceBench
from evonorm.runner.device_bench import Measured as Measured
from evonorm.runner.device_bench import as_report as as_report
from evonorm.runner.device_bench import bench_device as bench_device
from evonorm.runner.device_bench import describe_device as describe_device
from evonorm.runner.device_bench import find_device as find_device
from evonorm.runner.device_bench import kernel_on as kernel_on
from evonorm.runner.doctor import examine as examine
from evonorm.runner.driver import Driver as Driver
from evonorm.runner.evaluate_layer import Measurement as Measurement
from evonorm.runner.evaluate_layer import Watch as Watch
from evonorm.runner.evaluate_layer import check_layers as check_layers
from evonorm.runner.evaluate_layer import evaluate_layers as evaluate_layers
from evonorm.runner.evaluate_layer import kept_measurements as kept_measurements
from evonorm.runner.evaluate_layer import mean_and_spread as mean_and_spread
from evonorm.runner.evaluate_layer import read_fitness_recipe as read_fitness_recipe
from evonorm.runner.evaluate_layer import summary_notes as summary_notes
from evonorm.runner.evaluate_layer import summary_rows as summary_rows
from evonorm.runner.judge import FIRST_SEED as FIRST_SEED
from evonorm.runner.judge import Contender as Contender
from evonorm.runner.judge import Judged as Judged
from evonorm.runner.judge import PowerRow as PowerRow
from evonorm.runner.judge import contenders as contenders
from evonorm.runner.judge import judged as judged
from evonorm.runner.judge import judging_recipe as judging_recipe
from evonorm.runner.judge import power_table as power_table
from evonorm.runner.judge import seconds_of_one as seconds_of_one
from evonorm.runner.known_layers import KNOWN_LAYERS as KNOWN_LAYERS
from evonorm.runner.known_layers import mutant_of_known as mutant_of_known
from evonorm.runner.layer_timing import TIME as TIME
from evonorm.runner.layer_timing import Timed as Timed
from evonorm.runner.layer_timing import bench_layers as bench_layers
from evonorm.runner.layer_timing import bench_model as bench_model
from evonorm.runner.layer_timing import priced_front as priced_front
from evonorm.runner.objective import LayerTrial as LayerTrial
from evonorm.runner.own_search import LayerSearch as LayerSearch
from evonorm.runner.own_search import find_layers as find_layers
from evonorm.runner.plain_display import PlainDisplay as PlainDisplay
from evonorm.runner.plain_display import Printed as Printed
from evonorm.runner.rank_correlation import correlate as correlate
from evonorm.runner.rank_correlation import spearman as spearman
from evonorm.runner.recipe import Recipe as Recipe
from evonorm.runner.recipe import load_recipe as load_recipe
from evonorm.runner.recipe_file import all_changes as all_changes
from evonorm.runner.rerank import RERANK_MODELS as RERANK_MODELS
from evonorm.runner.rerank import Reranked as Reranked
from evonorm.runner.rerank import Rivals as Rivals
from evonorm.runner.rerank import agreement_of_seeds as agreement_of_seeds
from evonorm.runner.rerank import rerank as rerank
from evonorm.runner.rerank import rerank_recipes as rerank_recipes
from evonorm.runner.rerank import rivals_of as rivals_of
from evonorm.runner.run_search import resume_search as resume_search
from evonorm.runner.run_search import retry_candidates as retry_candidates
from evonorm.runner.run_search import start_search as start_search
from evonorm.runner.run_search import stored_recipe as stored_recipe
from evonorm.runner.session_words import SCORED as SCORED
from evonorm.runner.session_words import best_line as best_line
from evonorm.runner.session_words import count_line as count_line
from evonorm.runner.session_words import first_score_line as first_score_line
from evonorm.runner.session_words import hosts_line as hosts_line
from evonorm.runner.session_words import time_line as time_line
from evonorm.runner.session_words import work_lines as work_lines
from evonorm.runner.settings import changed_settings as changed_settings
from evonorm.runner.settings import read_settings as read_settings
from evonorm.runner.settings import settings_to_table as settings_to_table
from evonorm.runner.stored_training import stored_training as stored_training
from evonorm.runner.surroundings import commit as commit
from evonorm.runner.surroundings import kept_results as kept_results
from evonorm.runner.surroundings import machine as machine
from evonorm.runner.surroundings import processor as processor
from evonorm.runner.task_recipe import TaskRecipe as TaskRecipe
from evonorm.runner.task_recipe import load_task_recipe as load_task_recipe
from evonorm.runner.task_recipe import variants_of as variants_of
from evonorm.runner.time_left import TimeLeft as TimeLeft
from evonorm.runner.train_layer import Trained as Trained
from evonorm.runner.train_layer import train as train
from evonorm.runner.train_layer import trained_from as trained_from
from evonorm.runner.train_list import Found as Found
from evonorm.runner.train_list import Training as Training
from evonorm.runner.train_list import train_all as train_all
from evonorm.runner.verdicts import Verdict as Verdict
from evonorm.runner.verdicts import distinct_layers as distinct_layers
from evonorm.runner.verdicts import find_verdicts as find_verdicts
from evonorm.runner.verdicts import verdict_rows as verdict_rows
