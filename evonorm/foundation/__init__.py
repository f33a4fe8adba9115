"""What every room stands on, and nothing that knows what a layer is. Standard library and numpy only.

`names.py` turns a misspelt name into a helpful error, `extras.py` a missing package; `files.py` writes whole files,
`harmless.py` takes from foreign text what a terminal would obey, `seeds.py` makes random streams, `intervals.py` says
how sure a mean is. `registry.py` holds things by name, ours and other people's; `plugins.py` loads the packages that
bring those along.
"""

from evonorm.foundation.extras import MissingExtraError as MissingExtraError
from evonorm.foundation.extras import needs as needs
from evonorm.foundation.files import write_atomically as write_atomically
from evonorm.foundation.harmless import harmless as harmless
from evonorm.foundation.harmless import harmless_json as harmless_json
from evonorm.foundation.intervals import Estimate as Estimate
from evonorm.foundation.intervals import estimate as estimate
from evonorm.foundation.intervals import student_t as student_t
from evonorm.foundation.names import check_plain_name as check_plain_name
from evonorm.foundation.names import did_you_mean as did_you_mean
from evonorm.foundation.names import unknown_name as unknown_name
from evonorm.foundation.plugins import Plugin as Plugin
from evonorm.foundation.plugins import load_plugins as load_plugins
from evonorm.foundation.registry import Register as Register
from evonorm.foundation.seeds import seed_from as seed_from
