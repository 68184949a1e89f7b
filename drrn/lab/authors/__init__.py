"""The paper's two games, out of a clone of the authors' public repository: read as data, never run."""
