"""Status from mail: what employers write about applications is proposed with its evidence, and never decided.

A mailbox (a file, a folder of `.eml` files, or IMAP, all read-only) is read by a duty. Each mail is parsed within
limits (`message.py`), what it says is found by rules with the sentence that says it (`statements.py`), it is matched to
an application (`matching.py`), and stored as a proposal (`proposals.py`). Only an answer to it
moves a card, and only a person's answer moves the application.
"""
