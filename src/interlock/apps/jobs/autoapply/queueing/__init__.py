"""How a match becomes an application: by a rule, by a person, or by a request that asks for what was missed."""
