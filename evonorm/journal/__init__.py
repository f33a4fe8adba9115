"""What was tried: one append-only SQLite file per run. The state of a search is what its journal says.

Read `words.py`, `outcomes.py` and `proposals.py` first (the values, with `progress.py`), then `journal.py` (the one
writer) and `reader.py` (everybody else). All SQL is in this room: `ranking.py` says which functions are best,
`ledger.py` what the stages cost, `news.py` what came in lately, `family.py` who made whom, `listing.py` who is there,
`run_state.py` whether a search is at work, `hosts.py` which other machines were. `schema.py` opens and checks files,
`schema1.py` those of the first version, `digest.py` says whether two searches are equal, `transfer.py` carries a run to
another machine, `lock.py` keeps a second driver out, `run_folder.py` finds a run by its name. Against damage:
`chain.py` seals every row, `written.py` counts what was written, `known_schema.py` knows every table word by word,
`snapshot.py` makes copies, `repair.py` checks a journal and keeps what is good of it. Beside the journal, `kept.py`:
results of long work without a search, each found again by the question that decides it.
"""

from evonorm.journal.digest import journal_digest as journal_digest
from evonorm.journal.family import Relative as Relative
from evonorm.journal.family import ancestry as ancestry
from evonorm.journal.family import children as children
from evonorm.journal.family import count_children as count_children
from evonorm.journal.family import founders as founders
from evonorm.journal.family import kin as kin
from evonorm.journal.family import plain_formula as plain_formula
from evonorm.journal.family import readable as readable
from evonorm.journal.hosts import Hosts as Hosts
from evonorm.journal.hosts import NodeRow as NodeRow
from evonorm.journal.hosts import read_hosts as read_hosts
from evonorm.journal.journal import Journal as Journal
from evonorm.journal.kept import KeptResults as KeptResults
from evonorm.journal.kept import Listener as Listener
from evonorm.journal.kept import Question as Question
from evonorm.journal.kept import add_record as add_record
from evonorm.journal.kept import read_records as read_records
from evonorm.journal.ledger import Ledger as Ledger
from evonorm.journal.ledger import LedgerRow as LedgerRow
from evonorm.journal.ledger import read_ledger as read_ledger
from evonorm.journal.listing import LISTED as LISTED
from evonorm.journal.listing import SORTED as SORTED
from evonorm.journal.listing import list_candidates as list_candidates
from evonorm.journal.lock import RunLock as RunLock
from evonorm.journal.news import end_of_journal as end_of_journal
from evonorm.journal.news import new_scores as new_scores
from evonorm.journal.news import new_steps as new_steps
from evonorm.journal.news import new_verdicts as new_verdicts
from evonorm.journal.outcomes import Failed as Failed
from evonorm.journal.outcomes import Outcome as Outcome
from evonorm.journal.outcomes import Rejected as Rejected
from evonorm.journal.outcomes import Scores as Scores
from evonorm.journal.outcomes import Stage as Stage
from evonorm.journal.outcomes import average as average
from evonorm.journal.outcomes import figure_words as figure_words
from evonorm.journal.outcomes import outcome_from_json as outcome_from_json
from evonorm.journal.outcomes import outcome_to_json as outcome_to_json
from evonorm.journal.outcomes import verdict_words as verdict_words
from evonorm.journal.progress import Progress as Progress
from evonorm.journal.progress import Watcher as Watcher
from evonorm.journal.progress import progress_from_json as progress_from_json
from evonorm.journal.proposals import Proposal as Proposal
from evonorm.journal.ranking import Noise as Noise
from evonorm.journal.ranking import Ranked as Ranked
from evonorm.journal.ranking import Ranking as Ranking
from evonorm.journal.ranking import leaderboard as leaderboard
from evonorm.journal.reader import Candidate as Candidate
from evonorm.journal.reader import Evaluation as Evaluation
from evonorm.journal.reader import Reader as Reader
from evonorm.journal.repair import Repaired as Repaired
from evonorm.journal.repair import check_journal as check_journal
from evonorm.journal.repair import repair_journal as repair_journal
from evonorm.journal.run_folder import JOURNAL as JOURNAL
from evonorm.journal.run_folder import NoSuchRunError as NoSuchRunError
from evonorm.journal.run_folder import RunFolder as RunFolder
from evonorm.journal.run_folder import find_run as find_run
from evonorm.journal.run_folder import fresh_name as fresh_name
from evonorm.journal.run_folder import run_names as run_names
from evonorm.journal.run_state import RunState as RunState
from evonorm.journal.run_state import cut_short as cut_short
from evonorm.journal.run_state import moment as moment
from evonorm.journal.run_state import run_state as run_state
from evonorm.journal.run_state import why_not_reproducible as why_not_reproducible
from evonorm.journal.schema import DamagedJournalError as DamagedJournalError
from evonorm.journal.schema import JournalError as JournalError
from evonorm.journal.schema import JournalFullError as JournalFullError
from evonorm.journal.schema import NoSuchCandidateError as NoSuchCandidateError
from evonorm.journal.schema1 import gone_settings as gone_settings
from evonorm.journal.snapshot import Snapshots as Snapshots
from evonorm.journal.snapshot import snapshot_path as snapshot_path
from evonorm.journal.transfer import export_journal as export_journal
from evonorm.journal.transfer import exported_name as exported_name
from evonorm.journal.transfer import import_journal as import_journal
from evonorm.journal.words import DEPTH_CHECKS as DEPTH_CHECKS
from evonorm.journal.words import FREE_CHECKS as FREE_CHECKS
from evonorm.journal.words import CandidateVerdict as CandidateVerdict
from evonorm.journal.words import End as End
from evonorm.journal.words import Event as Event
from evonorm.journal.words import Kind as Kind
from evonorm.journal.words import Origin as Origin
from evonorm.journal.words import StageKey as StageKey
from evonorm.journal.words import Test as Test
from evonorm.journal.words import label as label
