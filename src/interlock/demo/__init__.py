"""The demo: sample data that moves, so that every page has something to show.

It starts only in an unused database, and marks it as its own. Each `Part` has acts that replace missing handlers of its
machines, a way to create instances, and what people and agents do about waiting ones. The same parts write the past
(`past.py`: a day of histories with a clock that is set back) and drive the present (`loop.py`: something new every few
seconds). A machine with handlers of its own is never replaced.

An application names a function that returns its parts in `Application.demo`. This package has what it needs for that.
"""

from interlock.demo.part import IVO, MARA, Act, Pace, Part, Scene, oldest

__all__ = ["IVO", "MARA", "Act", "Pace", "Part", "Scene", "oldest"]
