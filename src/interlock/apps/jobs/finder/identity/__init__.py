"""Identity: canonical addresses, keys and duplicates: what makes two companies, sources or openings the same."""
