"""The register: lists, search, calendar, reminders and exports of contracts, from rows beside the documents."""
