"""The two sentences of a model card that change with the weights: what they are, and how good."""

import re

__all__ = ["card_of_other_weights", "quality_section", "weights_sentence"]


def weights_sentence(made_of: str) -> str:
    """Say which weights the model folder holds."""
    return f"The weights are {made_of}."


def quality_section(scores: str) -> str:
    """Say how well these weights did."""
    return f"## Quality\n\n{scores}.\n"


def card_of_other_weights(card: str, made_of: str, scores: str) -> str:
    """Return ``card`` with what it says of its weights replaced; what it does not say yet is added."""
    sentence, section = weights_sentence(made_of), quality_section(scores)
    card, known = re.subn(r"(?m)^The weights are .*$", lambda _: sentence, card)
    card, scored = re.subn(r"(?ms)^## Quality$.*?(?=^## |\Z)", lambda _: section, card)
    additions = ([] if known else [f"{sentence}\n"]) + ([] if scored else [section])
    return "\n".join([card, *additions])
