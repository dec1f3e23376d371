"""Which questions to ask: designs to begin with, and the next ones by what they teach."""

from ordinate.asking.active import choose_questions, next_questions
from ordinate.asking.designs import Questions, design_questions
from ordinate.asking.planning import Plan, plan_study
from ordinate.asking.sheets import write_questions

__all__ = [
    "Plan",
    "Questions",
    "choose_questions",
    "design_questions",
    "next_questions",
    "plan_study",
    "write_questions",
]
