"""Games: the contract, optional attributes, and `make`, which imports engines when needed."""
