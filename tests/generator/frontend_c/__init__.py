"""C sources: what is accepted, what it means, what is refused."""
