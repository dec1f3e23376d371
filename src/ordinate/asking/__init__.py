"""Which questions to ask: designs, the next ones, and how many are needed."""

from ordinate.asking.designs import Questions, design_questions

__all__ = ["Questions", "design_questions"]
