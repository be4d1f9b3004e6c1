"""What the contracts application needs of its host, for `interlock doctor`."""

from __future__ import annotations

from importlib.util import find_spec

from interlock.apps.contracts.settings import ContractSettings
from interlock.machine import HostCheck


def checks(_: ContractSettings) -> list[HostCheck]:
    if find_spec("rapidocr") is not None and find_spec("onnxruntime") is not None:
        return [HostCheck("contracts: text recognition", "scanned contracts are read")]
    says = "not installed; a contract with scanned pages is rejected"
    return [HostCheck("contracts: text recognition", says, "pip install 'interlock[ocr]'")]
