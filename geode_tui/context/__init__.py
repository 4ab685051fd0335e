"""What the model sees: the prompt's layers, the estimate of its size, the projection of results."""
