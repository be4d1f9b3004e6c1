"""The sample as it plugs into the demo; nobody installs it."""

from interlock.apps.sample.machine import parcel
from interlock.machine import Application

application = Application("sample", machines=[parcel], demo="interlock.apps.sample.demo:parts")
