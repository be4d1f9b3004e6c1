"""Rules that find values, and the choice between what they find.

Each rule reads the document in its own way and knows nothing of the others; agreement of several is worth more than one
result. A rule returns candidates, best first, each with the stored text that it was read from.
"""

from interlock.apps.contracts.fields.extract.candidate import Candidate, Extractor, RuleContext
from interlock.apps.contracts.fields.extract.names import EXTRACTORS

__all__ = ["EXTRACTORS", "Candidate", "Extractor", "RuleContext"]
