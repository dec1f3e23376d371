"""What one block of triplets adds up to: losses, noise models, and the backends that sum them."""
