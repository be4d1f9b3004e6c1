"""The workflow endpoints: request bodies, answers, step calls that wait, and the same workflow for Windmill."""
