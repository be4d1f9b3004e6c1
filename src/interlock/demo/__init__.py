"""The demo: a small world that moves by itself, so that every page has something to look at.

It begins in a database that nobody has used, and marks it as its own. There it plays what the applications do not bring
yet: each `Part` has acts that stand in for the handlers of its machines, a way to begin something new, and what people
and agents do about something that waits. The same parts play the past (`past.py`: a day of histories on a clock that
is set back, a few at a time beside the service) and the present (`loop.py`: something new every few seconds). A machine
that has handlers of its own is never played.

An application names a function that returns its parts in `Application.demo`. What it needs for that is here.
"""

from interlock.demo.part import IVO, MARA, Act, Pace, Part, Scene, oldest

__all__ = ["IVO", "MARA", "Act", "Pace", "Part", "Scene", "oldest"]
