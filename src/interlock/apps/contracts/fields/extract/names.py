"""The names of the rules, apart from the rules: a vertical can be checked without loading them."""

from __future__ import annotations

EXTRACTORS = (
    "law_clause", "law_reverse", "law_heading", "law_mention",
    "date_opening", "date_cover", "date_witness", "date_signature", "date_repeated", "date_stated",
    "effective_definition", "effective_opening", "effective_term", "effective_same",
    "party_alias", "party_list", "party_cover", "party_signature",
    "title_line", "title_opening",
    "end_date", "end_after", "end_never",
    "renewal", "renewal_notice",
    "clause", "label", "pattern", "provider",
)  # fmt: skip
