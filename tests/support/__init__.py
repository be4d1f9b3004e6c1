"""What tests in more than one folder use: servers, databases, services to call, machines to run."""
