"""A small application that brings settings, tables, a scope and personal data of its own: notes about visitors."""

from tests.support.notes.application import application

__all__ = ["application"]
