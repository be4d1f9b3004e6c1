"""Retention and erasure: archive and remove instances that ended long ago, and erase personal data on request."""
