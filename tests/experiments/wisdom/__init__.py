"""The best known plans of a user."""
