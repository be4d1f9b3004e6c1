"""What a person decides about an application: its review, submission by hand, and the time at which it is sent."""
