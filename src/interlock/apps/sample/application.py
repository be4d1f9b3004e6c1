"""The sample as part of the demo; it is not installed."""

from interlock.apps.sample.machine import parcel
from interlock.machine import Application

application = Application("sample", machines=[parcel], demo="interlock.apps.sample.demo:parts")
