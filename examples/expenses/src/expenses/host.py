"""What this application needs of its host, for `interlock doctor`."""

from __future__ import annotations

from interlock import HostCheck

from expenses.settings import ExpenseSettings


def checks(settings: ExpenseSettings) -> list[HostCheck]:
    papers = settings.papers
    if papers is None:
        says = "no folder is configured; auditors look for the paper itself"
        return [HostCheck("expenses: papers", says, "set papers in [expenses] to the folder with scanned receipts")]
    if not papers.is_dir():
        return [HostCheck("expenses: papers", f"{papers} is no folder here", "create it, or change papers")]
    return [HostCheck("expenses: papers", f"scanned receipts are in {papers}")]
