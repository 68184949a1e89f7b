"""The arena: players of exactly solved games, and what each of their decisions costs."""
