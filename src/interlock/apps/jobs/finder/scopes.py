"""What a program's token needs for the finder's endpoints. People have it by their role."""

from interlock.machine import Scope

JOBS = Scope("jobs", "add companies, sources and postings to the job finder and decide about them", role="member")
JOBS_READ = Scope("jobs_read", "read the job finder's profile, companies, sources and postings", role="viewer")
