"""`antune suite recorded`: explorers on recorded spaces."""
