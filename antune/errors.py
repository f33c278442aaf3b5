"""The errors that users of antune can encounter."""

from generator.errors import AntuneError, IllegalPlan, InputError, Location

__all__ = ["AntuneError", "IllegalPlan", "InputError", "Location"]
