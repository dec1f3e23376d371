"""Triplets and what is known of them: the table, questions and answers, checks, simulation."""
