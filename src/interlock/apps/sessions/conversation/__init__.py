"""What is said in a session: prompts in their order, the agent's lines as messages, and the list of sessions."""
