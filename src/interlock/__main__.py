"""`python -m interlock` is `interlock`."""

from interlock.cli import main

main()
