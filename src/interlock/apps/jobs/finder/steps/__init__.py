"""The work of each stage, a module for each pipeline, and what follows from its results.

`companies`, `sources` and `listings` hold the handlers; `crawls` is the stage CRAWL of a source. `followers` reacts to
reviews and failures, `duties` to the clock. `visit` is what every stage has at hand.
"""
