"""What is done in each state of an application: prepare the packet, then submit it, at most once."""
