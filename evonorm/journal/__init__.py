"""What was tried. Read `outcomes.py` first: what can come of a candidate."""

from evonorm.journal.outcomes import Failed as Failed
from evonorm.journal.outcomes import Outcome as Outcome
from evonorm.journal.outcomes import Rejected as Rejected
from evonorm.journal.outcomes import Scores as Scores
from evonorm.journal.outcomes import Stage as Stage
from evonorm.journal.outcomes import outcome_from_json as outcome_from_json
from evonorm.journal.outcomes import outcome_to_json as outcome_to_json
