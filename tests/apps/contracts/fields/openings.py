"""Openings of contracts, each with the parties and the date that a reader finds in it. All of them are made up."""

from __future__ import annotations

OPENINGS: list[tuple[str, list[str], str | None]] = [
    (
        'DISTRIBUTION AGREEMENT\nTHIS DISTRIBUTION AGREEMENT (the "Agreement") is made and entered into as of the 5th day of May, 2003\n'
        'by and between ALDER PUMPS, INC., a Delaware corporation ("Alder"), and BIRCH MARINE SUPPLY LLC, a\n'
        'Texas limited liability company ("Distributor").\nWHEREAS, Alder makes pumps;',
        ["Alder Pumps, Inc.", "Birch Marine Supply LLC"], "2003-05-05",
    ),
    (
        'This Supply Agreement ("Agreement") dated as of March 3, 2011, is between Cedar Foods Company, an Ohio corporation with\n'
        'offices at 12 Mill Road, Akron, Ohio 44301 (the "Buyer") and Dogwood Grain Co., Ltd., a company organized under the laws of\n'
        'Japan, having its principal office at 1-2-3 Minato, Tokyo, Japan (the "Seller").\nRECITALS',
        ["Cedar Foods Company", "Dogwood Grain Co., Ltd."], "2011-03-03",
    ),
    (
        'CONSULTING AGREEMENT\nThis Consulting Agreement is entered into effective January 15, 2009 (the "Effective Date") by and between Elm\n'
        'Biosciences Corp. (the "Company") and John Q. Hazel, an individual residing at 4 Oak Lane, Boston, MA 02110 ("Consultant").\n1. Services.',
        ["Elm Biosciences Corp.", "John Q. Hazel"], "2009-01-15",
    ),
    (
        'LICENSE AGREEMENT\n\nThis License Agreement (this "Agreement") is made this first day of June, 1998, by and among Fir Software, Inc., a\n'
        'California corporation ("Fir"), Ginkgo Systems Limited, a company incorporated in England ("Ginkgo"), and Holly Data GmbH, a German\n'
        'company ("Holly"). Fir, Ginkgo and Holly are each a "Party" and together the "Parties".\nNOW, THEREFORE, the parties agree',
        ["Fir Software, Inc.", "Ginkgo Systems Limited", "Holly Data GmbH"], "1998-06-01",
    ),
    (
        'AGENCY AGREEMENT\nby and between\nJUNIPER INSURANCE COMPANY\nand\nKAPOK BROKERS, INC.\nDated as of September 30, 1997\n\fAGENCY AGREEMENT\n'
        'THIS AGREEMENT, dated as of September 30, 1997, by and between JUNIPER INSURANCE COMPANY, a New York stock insurance company (hereinafter\n'
        'called the "Company"), and KAPOK BROKERS, INC., a New Jersey corporation (hereinafter called the "Agent").\nWITNESSETH:',
        ["Juniper Insurance Company", "Kapok Brokers, Inc."], "1997-09-30",
    ),
    (
        'This Services Agreement is made on the ____ day of __________, 2015 between Larch Energy Partners, L.P., a Delaware limited partnership\n'
        '("Larch"), and Maple Operating, LLC, a Delaware limited liability company ("Operator").\nARTICLE I',
        ["Larch Energy Partners, L.P.", "Maple Operating, LLC"], "2015-XX-XX",
    ),
    (
        'THIS AGREEMENT is made the 12th day of February 2004\nBETWEEN:\n(1) NUTMEG HOLDINGS PLC, a company registered in England under number 1234567 whose registered\n'
        'office is at 1 High Street, London ("Nutmeg"); and\n(2) OLIVE TRADING S.A., a company organised under the laws of France whose office is at 3 rue Verte, Paris ("Olive").\nWHEREAS:',
        ["Nutmeg Holdings PLC", "Olive Trading S.A."], "2004-02-12",
    ),
    (
        'Exhibit 10.4\nSPONSORSHIP AGREEMENT\nThis Sponsorship Agreement (the "Agreement") is entered into as of 10 October 2001 (the "Effective Date"), by and between\n'
        'Pine Racing, Inc., a North Carolina corporation, located at 9 Track Way, Concord, NC 28027 ("Team"), and Quince Beverages Corporation, a Georgia\n'
        'corporation, located at 2 Cola Plaza, Atlanta, GA 30313 ("Sponsor").\n1. Definitions',
        ["Pine Racing, Inc.", "Quince Beverages Corporation"], "2001-10-10",
    ),
    (
        'JOINT VENTURE AGREEMENT\nTHIS JOINT VENTURE AGREEMENT made and entered into this 21st day of December, 1999, by and between ROWAN, INC., hereinafter\n'
        'referred to as "Rowan", and SPRUCE & SONS, L.L.C., hereinafter referred to as "Spruce",\nW I T N E S S E T H:',
        ["Rowan, Inc.", "Spruce & Sons, L.L.C."], "1999-12-21",
    ),
    (
        'AMENDMENT NO. 2 TO MANUFACTURING AGREEMENT\nThis Amendment No. 2 to the Manufacturing Agreement dated as of April 1, 2005 is entered into as of July 9, 2007 by and\n'
        'between Teak Devices, Inc. ("Teak") and Ulmus Manufacturing Corp. ("Ulmus").\nWHEREAS, Teak and Ulmus',
        ["Teak Devices, Inc.", "Ulmus Manufacturing Corp."], "2007-07-09",
    ),
    (
        'FRANCHISE AGREEMENT\nThis Franchise Agreement ("Agreement") is made effective as of November 2nd, 2012, between VIBURNUM FRANCHISING, LLC, a Florida limited liability\n'
        'company ("we," "us," or "Franchisor"), and WILLOW RESTAURANTS, INC., a Georgia corporation ("you" or "Franchisee").\nRECITALS',
        ["Viburnum Franchising, LLC", "Willow Restaurants, Inc."], "2012-11-02",
    ),
    (
        'Yew Networks, Inc., a Delaware corporation with its principal place of business at 1 Main Street, Reno, Nevada ("Yew") and Zelkova\n'
        'Communications, Inc. with its principal place of business at 7 Bay Road, Miami, Florida ("Zelkova") hereby agree as follows:\n1. Term',
        ["Yew Networks, Inc.", "Zelkova Communications, Inc."], None,
    ),
    (
        'CO-BRANDING AGREEMENT\nThis Co-Branding Agreement, effective as of May 1, 2000 ("Effective Date"), is made by and between Acacia.com, Inc., a Washington\n'
        'corporation, with a principal place of business at 3 Pike St., Seattle, Washington 98101 (together with its affiliates, "Acacia"), and\n'
        'beechOnline, Inc., a Delaware corporation ("Beech").\nBACKGROUND',
        ["Acacia.com, Inc.", "beechOnline, Inc."], "2000-05-01",
    ),
    (
        'ENDORSEMENT AGREEMENT\nTHIS AGREEMENT is made and entered into this 3 day of April, 2006 by and between CASSIA GOLF COMPANY, a subsidiary of Cassia International,\n'
        'Inc. (the "Company"), and DANIEL LINDEN (the "Athlete").\nWHEREAS, the Athlete is known',
        ["Cassia Golf Company", "Daniel Linden"], "2006-04-03",
    ),
    (
        'HOSTING AND MANAGEMENT AGREEMENT\nThis Hosting and Management Agreement is made as of the date last written below (the "Effective Date") by and between\n'
        'Elder Hosting, Inc. ("Provider") and Fig Bank, N.A. ("Customer").\n1. SERVICES',
        ["Elder Hosting, Inc.", "Fig Bank, N.A."], None,
    ),
    (
        'DEVELOPMENT AGREEMENT\nTHIS DEVELOPMENT AGREEMENT (the "Agreement"), is dated this 30th day of June, 2014, and is between Gorse Therapeutics, Inc., a Delaware corporation\n'
        '("Gorse"), and The Regents of the University of Heather, a public corporation ("University").\nRECITALS',
        ["Gorse Therapeutics, Inc.", "The Regents of the University of Heather"], "2014-06-30",
    ),
    (
        'RESELLER AGREEMENT\nThis Reseller Agreement ("Agreement") is entered into by and between Iris Software Corporation ("Iris"), a corporation organized under the laws\n'
        'of the State of Delaware, and Jasmine Partners, LLP ("Reseller"), a partnership organized under the laws of the State of Illinois, as of August 8, 2008.\n1. Appointment',
        ["Iris Software Corporation", "Jasmine Partners, LLP"], "2008-08-08",
    ),
    (
        'TRANSPORTATION AGREEMENT\nTHIS TRANSPORTATION AGREEMENT is made and entered into as of this 1st day of October, 2013, by and between Kelp Pipeline Company, L.P., a Delaware limited\n'
        'partnership ("Transporter") and Lotus Oil & Gas Corporation, a Nevada corporation ("Shipper"). Transporter and Shipper may be referred to individually as a "Party".\n',
        ["Kelp Pipeline Company, L.P.", "Lotus Oil & Gas Corporation"], "2013-10-01",
    ),
    (
        'STRATEGIC ALLIANCE AGREEMENT\nThis Agreement is made and executed at Mumbai on this 4th day of January 2017 BETWEEN Magnolia Infotech Private Limited, a company incorporated\n'
        'under the Companies Act, 1956 and having its registered office at 5 Hill Road, Mumbai (hereinafter referred to as "Magnolia") of the ONE PART AND Neem Services Pvt. Ltd., a company\n'
        'having its office at 6 Lake Road, Pune (hereinafter referred to as "Neem") of the OTHER PART.\nWHEREAS',
        ["Magnolia Infotech Private Limited", "Neem Services Pvt. Ltd."], "2017-01-04",
    ),
    (
        'OUTSOURCING AGREEMENT\nThis OUTSOURCING AGREEMENT (the "Agreement") is made and entered into this 15th of July, 2002 (the "Effective Date"), by and between ORCHID BANCORP, a\n'
        'Pennsylvania corporation ("Orchid"), on behalf of itself and its subsidiaries, and PEONY DATA SERVICES, INC., a Missouri corporation ("Peony").\nRECITALS',
        ["Orchid Bancorp", "Peony Data Services, Inc."], "2002-07-15",
    ),
    (
        'MAINTENANCE AGREEMENT\nAgreement made this 18th day of March, 1996, between Rose Elevator Company, having an office at 10 Shaft Street, Newark, New Jersey 07102 ("Contractor"), and\n'
        'Sage Realty Trust ("Owner").\nIn consideration of the mutual promises, the parties agree as follows:',
        ["Rose Elevator Company", "Sage Realty Trust"], "1996-03-18",
    ),
    (
        'MARKETING AGREEMENT\nTHIS MARKETING AGREEMENT is made as of 12/31/2004, between Thistle Media Group, Inc. ("TMG") and Vetch Card Services, Inc., a Delaware corp. ("Vetch").\nWHEREAS',
        ["Thistle Media Group, Inc.", "Vetch Card Services, Inc."], "2004-12-31",
    ),
    (
        'INTELLECTUAL PROPERTY AGREEMENT\nThis INTELLECTUAL PROPERTY AGREEMENT (this "Agreement"), dated as of January 2, 2019 (the "Effective Date"), is entered into by and between\n'
        'Arum Worldwide, Inc., a Delaware corporation ("Arum"), and Borage Brands Holdings, LLC, a Delaware limited liability company ("Borage" and, together with Arum, the\n"Parties" and each a "Party").\nRECITALS',
        ["Arum Worldwide, Inc.", "Borage Brands Holdings, LLC"], "2019-01-02",
    ),
    (
        'COLLABORATION AGREEMENT\nThis Collaboration Agreement (this "Agreement") is entered into as of August 31, 2016 (the "Execution Date"), by and between CLOVER PHARMA AG, a Swiss corporation\n'
        'having its principal place of business at Hauptstrasse 1, 4051 Basel, Switzerland ("Clover"), and DAISY BIOTECH LTD., an Israeli company having a place of business at 2\nHerzl St., Rehovot, Israel ("Daisy"). Clover and Daisy are sometimes referred to herein individually as a "Party" and collectively as the "Parties."\nBACKGROUND',
        ["Clover Pharma AG", "Daisy Biotech Ltd."], "2016-08-31",
    ),
    (
        'SERVICE AGREEMENT\nThis Service Agreement, hereinafter "Agreement", is entered into on [***], 2018 by Erica Logistics S.p.A., with registered office in Milan, Italy ("Erica") and\nFennel Freight B.V., with registered office in Rotterdam, the Netherlands ("Fennel").\nWHEREAS',
        ["Erica Logistics S.p.A.", "Fennel Freight B.V."], "2018-XX-XX",
    ),
    (
        'NON-COMPETITION AGREEMENT\nThis NON-COMPETITION AGREEMENT is made as of the 7th day of August, 2013 by and among Gentian, Inc., a Delaware corporation (the "Company"), Heath Acquisition\nCorp., a Delaware corporation and a wholly-owned subsidiary of the Company ("Merger Sub"), and Ivan Juncus (the "Shareholder").\nWHEREAS',
        ["Gentian, Inc.", "Heath Acquisition Corp.", "Ivan Juncus"], "2013-08-07",
    ),
    (
        'PROMOTION AGREEMENT\nThis Promotion Agreement (the "Agreement") is entered into as of July 15, 1999 between Lilac Inc., a Delaware corporation, with offices at 1 Web Way, San Jose, CA\n95110 ("LILAC") and Mallow.com, Inc. a Delaware corporation with offices at 2 Net Street, Austin, TX 78701 ("MALLOW").\n1. DEFINITIONS',
        ["Lilac Inc.", "Mallow.com, Inc."], "1999-07-15",
    ),
    (
        'MANUFACTURING AGREEMENT\nThis Manufacturing Agreement is made and entered into on November 8, 1995, between NETTLE CORPORATION ("NETTLE"), and OSIER INDUSTRIES CO., LTD. (the "Manufacturer"), a\ncorporation duly organized under the laws of the Republic of China.\nARTICLE 1',
        ["Nettle Corporation", "Osier Industries Co., Ltd."], "1995-11-08",
    ),
    (
        'CONTENT LICENSE AGREEMENT\nThis Agreement ("Agreement"), effective as of the last date of signature below, is made between Poppy Press, a division of Quill Media, Inc. ("Licensor"),\nand Reed Education Ltd ("Licensee").\n1. Grant',
        ["Poppy Press", "Reed Education Ltd"], None,
    ),
    (
        'AFFILIATE AGREEMENT\nThis Affiliate Agreement (this "Agreement"), dated January 1, 2010, is by and between Sorrel Interactive, Inc. (“Sorrel”), and Tansy Online LLC\n(“Affiliate”).\nIN CONSIDERATION of the foregoing',
        ["Sorrel Interactive, Inc.", "Tansy Online LLC"], "2010-01-01",
    ),
    (
        'AGREEMENT\nTHIS AGREEMENT, entered into this 24th day of April, Two Thousand and One, by and between the City of Umbel, a municipal corporation ("City"), and Valerian Water\nCompany, a Maine corporation ("Valerian").\nWHEREAS',
        ["City of Umbel", "Valerian Water Company"], "2001-04-24",
    ),
    (
        'SUPPLY AGREEMENT\nBETWEEN\nWOAD CHEMICALS N.V.\nAND\nYARROW PLASTICS, INC.\nDATED DECEMBER 12, 2008\n\fSUPPLY AGREEMENT\nThis Supply Agreement is made and entered into as of the 12th day of December, 2008 (the "Effective Date") by and between:\n'
        'Woad Chemicals N.V., a company organized under the laws of Belgium, with its registered office at Antwerp ("Woad"),\nand\nYarrow Plastics, Inc., a Delaware corporation, with offices at Houston, Texas ("Yarrow").\nWHEREAS',
        ["Woad Chemicals N.V.", "Yarrow Plastics, Inc."], "2008-12-12",
    ),
]  # fmt: skip
