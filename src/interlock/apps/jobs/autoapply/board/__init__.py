"""The board after applying: where each application is now that it was sent, and what to do next.

A card is opened when an application is submitted, or imported. Its stage (submitted, screening, interview, offer,
closed) is a field with a log, not a state of the machine: a person moves it, and what mail says is only proposed
(`../mail`). Notes, contacts and dates hang on the card; open dates are a calendar. `rates` counts replies.
"""
