"""Which questions to ask: designs to begin with, and the next ones by what they teach."""

from ordinate.asking.active import choose_questions, next_questions
from ordinate.asking.designs import Questions, design_questions
from ordinate.asking.sheets import write_questions

__all__ = [
    "Questions",
    "choose_questions",
    "design_questions",
    "next_questions",
    "write_questions",
]
