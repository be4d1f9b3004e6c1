"""The repositories of the configuration: which there are, and what a session's branch changes in one."""
