"""The companies of the world and their openings, one module for each company. All of them are made up."""
