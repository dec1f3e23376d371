"""The roles that columns have, and the names that files give to them.

Clear names tell the layout by themselves. Wide names are those that the same column has in some
files and another in others: they count once the layout is known, or where only one layout fits.
"""

import re
from collections.abc import Mapping

from ordinate.files.formats.cells import normal
from ordinate.files.formats.table import Roles

PARTICIPANT = (
    *("participant", "participant_id", "puid", "subject", "subject_id", "worker", "worker_id"),
    *("user_id", "participation", "prolific_pid", "prolific_id", "subj", "subj_id"),
    *("ppt", "ppt_id", "pid", "respondent", "respondent_id", "observer", "observer_id"),
    *("rater", "rater_id", "annotator", "annotator_id", "turker", "turker_id"),
    *("proband", "versuchsperson", "vp", "sub", "sub_id", "participant_code"),
    *(f"{who}_{number}" for who in ("participant", "subject") for number in ("nr", "number", "no")),
    *("participant_private_id", "participant_public_id", "agent_id"),
)
RESPONSE_TIME = ("response_time", "response_time_s", "response_time_ms", "reaction_time", "rt")
CHECK = (
    *("check", "is_check", "catch", "is_catch", "catch_trial", "is_catch_trial", "check_trial"),
    *("attention_check", "is_attention_check", "validation", "is_validation"),
)
TIMEOUT = ("timeout", "timed_out", "is_timeout")
WEIGHT = ("weight",)
ANSWER = ("answer", "answer_id")
# Columns that any layout may have.
OPTIONAL: Mapping[str, tuple[str, ...]] = {
    "participant": PARTICIPANT,
    "response_time": RESPONSE_TIME,
    "check": CHECK,
    "timeout": TIMEOUT,
    "weight": WEIGHT,
    "answer": ANSWER,
}

# The items of a question of three, as files name them.
THREE = {
    "first": ("first", "item_1", "object_1", "triplet_object_1", "a"),
    "second": ("second", "item_2", "object_2", "triplet_object_2", "b"),
    "third": ("third", "item_3", "object_3", "triplet_object_3", "c"),
}
# What was said, in a column whose name does not tell of what.
SAID = (
    *("response", "choice", "chosen", "chosen_item", "selected", "selection", "answer", "label"),
    *("resp", "pick", "picked", "decision", "judgment", "judgement", "clicked", "winner"),
    *("key_resp_keys", "key_resp", "button_pressed"),
    *("key_press", "key_pressed", "key", "keypress", "response_key"),
)
STEMS = (
    *("item", "stim", "stimulus", "image", "img", "picture", "pic", "object", "option", "opt"),
    *("choices", "choice", "alternative", "alt", "candidate", "comparison", "comp", "obj", "id"),
    *("video", "sound", "word", "im", "s", "i"),
)
CLEAR_ANCHORS = ("anchor", "reference", "ref", "standard", "target", "probe", "query", "cue")
ANCHORS = (
    *CLEAR_ANCHORS,
    "sample",
    *("centre", "center", "head", "top", "base", "comparison", "stimulus"),
)


# Words that a name may have besides what it says: ref_img, left_image_file, opt1_path.
BESIDE = {
    "img",
    "image",
    "stim",
    "stimulus",
    "item",
    "id",
    "name",
    "file",
    "filename",
    "path",
    "url",
}


def core(name: str) -> str:
    """Return a column's name without the words that only say what kind of thing it holds.

    >>> core("Ref.Img"), core("refImage"), core("image_1"), core("stimulus")
    ('ref', 'ref', 'image_1', 'stimulus')
    """
    words = normal(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)).split("_")
    left = [word for word in words if word not in BESIDE]
    return "_".join(left) if left and not all(map(str.isdigit, left)) else "_".join(words)


def numbered(number: int) -> tuple[str, ...]:
    """Return the names of the item with a number: item_2, stim2_id, image2, ...; ids first."""
    stems = [f"{stem}_{number}" for stem in STEMS]
    return (*(f"{stem}_id" for stem in stems), *stems, *(f"{stem}_name" for stem in stems))


def wide_three(said: Roles) -> Roles:
    """Return three items and what was said of them, by any name."""
    items = {
        "first": (*THREE["first"], *numbered(1)),
        "second": (*THREE["second"], *numbered(2)),
        "third": (*THREE["third"], *numbered(3)),
    }
    return {**items, **{role: (*names, *SAID) for role, names in said.items()}}


WIDE_PLAIN: Roles = {
    "anchor": ANCHORS,
    "near": ("near", "nearer", "close", "closer", "similar", "more_similar", "winner", "chosen"),
    "far": ("far", "farther", "further", "dissimilar", "less_similar", "loser", "unchosen"),
}
# An anchor and two items, by any name; or three items of which the first is the anchor.
PAIR: Roles = {
    "anchor": ANCHORS,
    "first": ("first", "left", "option_a", *numbered(1), "a"),
    "second": ("second", "right", "option_b", *numbered(2), "b"),
}
PAIR_OF_THREE: Roles = {
    "anchor": ("anchor", "a", *numbered(1)),
    "first": ("first", "b", *numbered(2)),
    "second": ("second", "c", *numbered(3)),
}
# What was said to be nearer, or farther.
SAID_NEAR = ("closer", "nearer", "closest", "nearest", "more_similar", "most_similar")
SAID_FAR = (
    *("farther", "further", "loser", "less_similar", "least_similar", "dissimilar"),
    *("more_different", "most_different", "different", "rejected", "unchosen"),
)
WIDE_PAIRS: tuple[Roles, ...] = (
    {**PAIR, "response": (*SAID, *SAID_NEAR)},
    {**PAIR_OF_THREE, "response": (*SAID, *SAID_NEAR)},
    {**PAIR, "farther": SAID_FAR},
)
# Three items of which the nearest to another one is picked.
WIDE_NEAREST: Roles = {
    "query": CLEAR_ANCHORS,
    "shown_1": ("option_a", *numbered(1), "a"),
    "shown_2": ("option_b", *numbered(2), "b"),
    "shown_3": ("option_c", *numbered(3), "c"),
    "chosen_1": (*SAID, *SAID_NEAR),
}
# Votes are named for the item they went to.
WIDE_VOTES: tuple[Roles, ...] = (
    {
        **PAIR,
        "votes_first": ("votes_first", "votes_left", "votes_a", "votes_1"),
        "votes_second": ("votes_second", "votes_right", "votes_b", "votes_2"),
    },
    {**PAIR_OF_THREE, "votes_first": ("votes_b",), "votes_second": ("votes_c",)},
)
