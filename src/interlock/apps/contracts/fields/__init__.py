"""Extracts fields from a document's text: verticals as data, rules, validation, confidence, evaluation.

Pure functions, in this order: `extract(document, vertical)` finds values with their quotes; `validate(vertical,
values)` finds problems; `score(document, vertical, extraction, problems, calibration)` gives each field and the
document a probability and decides whether a review is needed. `assess` does all three.

Nothing here reads a clock, a network or a database: today's date, the calibration table and the providers are
arguments.
"""
