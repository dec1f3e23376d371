"""What is done with all the rest: the folder of a fit, the experiments, the demo."""
