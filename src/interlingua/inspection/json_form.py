"""Records of this room as JSON: names as they are, arrays as lists, six digits, nothing that is no number."""

import math
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

__all__ = ["as_json"]

DIGITS = 6


def as_json(value: Any) -> Any:
    """Return ``value`` in the types of JSON; what is infinite or no number becomes None."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: as_json(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, np.ndarray):
        return as_json(value.tolist())
    if isinstance(value, dict):
        return {str(name): as_json(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_json(each) for each in value]
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None
    return value
