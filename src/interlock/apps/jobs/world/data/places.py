"""Cities of the world's openings."""

from interlock.apps.jobs.world.opening import Place

US = "United States"
PORTLAND = Place("Portland", "OR", "US", US)
SEATTLE = Place("Seattle", "WA", "US", US)
SAN_FRANCISCO = Place("San Francisco", "CA", "US", US)
DENVER = Place("Denver", "CO", "US", US)
AUSTIN = Place("Austin", "TX", "US", US)
CHICAGO = Place("Chicago", "IL", "US", US)
BOSTON = Place("Boston", "MA", "US", US)
NEW_YORK = Place("New York", "NY", "US", US)
ATLANTA = Place("Atlanta", "GA", "US", US)
TORONTO = Place("Toronto", "ON", "CA", "Canada")
LONDON = Place("London", "England", "GB", "United Kingdom")
BERLIN = Place("Berlin", "Berlin", "DE", "Germany")
HAMBURG = Place("Hamburg", "Hamburg", "DE", "Germany")
AMERICAN = (PORTLAND, SEATTLE, SAN_FRANCISCO, DENVER, AUSTIN, CHICAGO, BOSTON, NEW_YORK, ATLANTA)
