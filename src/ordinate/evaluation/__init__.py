"""How good a map is: errors, splits, held-out answers."""
