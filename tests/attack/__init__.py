"""What an intruder would try. Each file is one subject; each test is an attack that succeeded once."""
