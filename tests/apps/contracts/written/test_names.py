"""Names of every shape in openings of every shape: what is read depends on neither."""

from __future__ import annotations

import pytest

from interlock.apps.contracts.fields.extraction import extract
from interlock.apps.contracts.fields.matching import matches
from interlock.apps.contracts.fields.normalise.names import name_key
from interlock.apps.contracts.fields.vertical import shipped
from tests.apps.contracts.written.measuring import document

NAMES = (
    "The Regents of the University of Ruritania",
    "E.I. du Prunus de Malus and Company",
    "Alder & Birch",
    "Cedar Instruments Incorporated",
    "Dogwood! Inc.",
    "elm.com, Inc.",
    "eFir Inc.",
    "i2 Ginkgo, Inc.",
    "4H Company",
    "1-800-Hazel.com, Inc.",
    "K-3 Juniper Corporation",
    "The Larch & Maple Company",
    "Industrias Nogales, S.A. de C.V.",
    "Zhejiang Olive Cobalt Co., Ltd.",
    "The Bank of New Pine Trust Company, N.A.",
    "Quince Bank and Trust Company",
    "Rowan Bank, National Association",
    "F. Spruce-La Teak Ltd",
    "Koninklijke Ulmus Electronics N.V.",
    "Viburnum do Sul Ltda.",
    "Willow Foundation for Medical Education and Research",
    "Children's Yew Medical Center",
    "P.F. Acacia's Bistro, Inc.",
    "St. Beech Medical, Inc.",
    "Cheung Cassia (Holdings) Limited",
    "BX Exploration (Linden) Inc.",
    "Sociedad Quimica y Minera de Sorbus S.A.",
    "Wells Privet Pipeline Limited Partnership",
    "123456 Canada Inc.",
    "Robert Q. Sumac",
    "Cal Tamarack, Jr.",
    "Michael J. Osier, M.D.",
)
PERSONS = NAMES[-3:]
OPENINGS = """
THIS AGREEMENT ("Agreement") is made as of this 3rd day of May, 2006 by and between {A}, {a}
("Seller"), and {B}, {b} ("Buyer").
WHEREAS
---
This Agreement is entered into effective May 3, 2006 between {A} (hereinafter referred to as
"Company") and {B} (hereinafter referred to as "Contractor").
1. Services.
---
THIS AGREEMENT is made the 3rd day of May 2006
BETWEEN:
(1) {A}, {a} ("Seller"); and
(2) {B}, {b} ("Buyer").
RECITALS
---
SUPPLY AGREEMENT
THIS SUPPLY AGREEMENT is made as of May 3, 2006 by and between {A}, {a}, and {B}, {b}.
ARTICLE 1
---
This agreement is made on 3 May 2006 by {A} ("Licensor"), of 2 King Street, London W1A 1AA, and {B}
("Licensee"), {b}.
NOW THEREFORE
---
This Agreement, made this 3rd day of May, 2006, by and between {A}, {a}, party of the first part,
hereinafter called the "Franchisor", and {B}, {b}, party of the second part, hereinafter called the
"Franchisee".
W I T N E S S E T H:
---
AMENDMENT NO. 1
This Amendment No. 1 (the "Amendment") to the Services Agreement dated January 5, 2004 (the
"Agreement") is made as of May 3, 2006 by and between {A} ("Seller") and {B} ("Buyer").
WHEREAS
---
JOINT VENTURE AGREEMENT
between
{A}
and
{B}
THIS JOINT VENTURE AGREEMENT, effective May 3, 2006, is between {A}, {a} (hereafter "Seller"), on
the one hand, and {B}, {b} (hereafter "Buyer"), on the other hand.
Background
---
THIS AGREEMENT, dated as of May 3, 2006 (this "Agreement"), is made by {A}, {a} (the "Grantor"), in
favor of {B}, {b} (the "Grantee").
WHEREAS
---
THIS AGREEMENT MADE AS OF THE 3RD DAY OF MAY, 2006 BY AND BETWEEN {A}, HAVING ITS OFFICE AT 1 MAIN
STREET, AKRON, OHIO (HEREINAFTER CALLED "SELLER") AND {B}, HAVING ITS OFFICE AT 5 LAKE STREET
(HEREINAFTER CALLED "BUYER").
WITNESSETH
---
PARTIES
1. {A}, {a} ("Seller")
2. {B}, {b} ("Buyer")
DATE: May 3, 2006
BACKGROUND
---
FRANCHISE AGREEMENT
Franchisor: {A}
Franchisee: {B}
Effective Date: May 3, 2006
The Franchisor grants rights.
1. Grant
""".strip("\n").split("\n---\n")
REST = """
1. The parties agree to give notice of termination, as confidential under law and contract, and shall perform hereby.
IN WITNESS WHEREOF, the parties have executed this Agreement.
{A}
By: /s/ Ann Rue
Name: Ann Rue
{B}
By: /s/ Bob Tansy
Name: Bob Tansy
"""


@pytest.mark.parametrize("opening", OPENINGS, ids=range(len(OPENINGS)))
def test_names_of_any_shape_are_read_in_an_opening(opening: str) -> None:
    vertical, wrong = shipped()["commercial"], []
    for place in range(0, len(NAMES), 2):
        first, second = NAMES[place], NAMES[(place * 7 + 5) % len(NAMES)]
        described = ["an individual" if name in PERSONS else "a Delaware corporation" for name in (first, second)]
        text = (opening + REST).format(A=first, B=second, a=described[0], b=described[1])
        fields = extract(document(text), vertical).fields
        read = fields["parties"].normalised if "parties" in fields else None
        if not matches("parties", read, [[name_key(first)], [name_key(second)]]):
            wrong.append((first, second, read))
    assert len(wrong) <= 1, wrong
