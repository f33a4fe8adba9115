"""What was tried: one append-only SQLite file per run. The state of a search is what its journal says.

Read `outcomes.py` and `proposals.py` first (the values), then `journal.py` (the one writer) and `reader.py` (everybody
else). `ranking.py` says which functions are best, `schema.py` opens and checks files, `digest.py` says whether two
searches are equal, `transfer.py` carries a run to another machine, `lock.py` keeps a second driver out, `run_folder.py`
finds a run by its name. Beside the journal, `kept.py`: results of long work without a search, each found
again by the question that decides it.
"""

from evonorm.journal.digest import journal_digest as journal_digest
from evonorm.journal.journal import Journal as Journal
from evonorm.journal.kept import KeptResults as KeptResults
from evonorm.journal.kept import Listener as Listener
from evonorm.journal.kept import Question as Question
from evonorm.journal.kept import add_record as add_record
from evonorm.journal.kept import read_records as read_records
from evonorm.journal.lock import RunLock as RunLock
from evonorm.journal.lock import lock_owner as lock_owner
from evonorm.journal.outcomes import Failed as Failed
from evonorm.journal.outcomes import Outcome as Outcome
from evonorm.journal.outcomes import Rejected as Rejected
from evonorm.journal.outcomes import Scores as Scores
from evonorm.journal.outcomes import Stage as Stage
from evonorm.journal.outcomes import outcome_from_json as outcome_from_json
from evonorm.journal.outcomes import outcome_to_json as outcome_to_json
from evonorm.journal.proposals import Proposal as Proposal
from evonorm.journal.ranking import Ranked as Ranked
from evonorm.journal.ranking import Ranking as Ranking
from evonorm.journal.ranking import leaderboard as leaderboard
from evonorm.journal.reader import Candidate as Candidate
from evonorm.journal.reader import Reader as Reader
from evonorm.journal.reader import Run as Run
from evonorm.journal.run_folder import NoSuchRunError as NoSuchRunError
from evonorm.journal.run_folder import RunFolder as RunFolder
from evonorm.journal.run_folder import find_run as find_run
from evonorm.journal.run_folder import fresh_name as fresh_name
from evonorm.journal.run_folder import run_names as run_names
from evonorm.journal.schema import PARENT as PARENT
from evonorm.journal.schema import JournalError as JournalError
from evonorm.journal.schema import JournalFullError as JournalFullError
from evonorm.journal.schema import explained as explained
from evonorm.journal.transfer import export_journal as export_journal
from evonorm.journal.transfer import exported_name as exported_name
from evonorm.journal.transfer import import_journal as import_journal
