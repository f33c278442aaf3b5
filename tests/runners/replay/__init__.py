"""Recordings, and the runner that replays them."""
