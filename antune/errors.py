"""The errors a user of antune can meet, under the name users import."""

from generator.errors import AntuneError, IllegalPlan, InputError, Location

__all__ = ["AntuneError", "IllegalPlan", "InputError", "Location"]
