"""From texts to vectors: an encoder reads each distinct text of a batch once."""
