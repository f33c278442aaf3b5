"""Dependences, schedules, legality."""
