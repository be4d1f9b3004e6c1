"""From a document's text to values one can trust: verticals as data, rules, validation, confidence, evaluation.

Pure functions, in this order: `extract(document, vertical)` finds values with their quotes; `validate(vertical,
values)` says what is wrong with them; `score(document, vertical, extraction, problems, calibration)` gives each field
and the document a probability and says whether a person must look. `assess` does all three.

Nothing here reads a clock, a network or a database: today's date, the calibration table and the lookup of providers
come in as arguments.
"""
