"""Workers: what they do with handlers, with bad input, and with bad luck."""
