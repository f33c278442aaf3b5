"""Pictures of what a search did."""
