"""The views of all machines of the application."""

from interlock.apps.jobs.autoapply.views import views as autoapply
from interlock.apps.jobs.claims.pages import views as claims
from interlock.apps.jobs.finder.views import views as finder

views = {**claims, **finder, **autoapply}
