"""Checks of constructor arguments, with one wording for all errors."""

from numbers import Integral, Real


def check_positive_integer(name, value):
    """Raise `ValueError` unless `value` is an integer of at least 1."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise ValueError(
            f"`{name}` must be an integer of at least 1. Received: {value!r}."
        )
    return int(value)


def check_rate(name, value):
    """Raise `ValueError` unless `value` is a number in [0, 1)."""
    if (
        isinstance(value, bool)
        or not isinstance(value, Real)
        or not 0 <= float(value) < 1
    ):
        raise ValueError(f"`{name}` must be in [0, 1). Received: {value!r}.")
    return float(value)


def check_number(name, value):
    """Raise `ValueError` unless `value` is a number."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ValueError(f"`{name}` must be a number. Received: {value!r}.")
    return float(value)


def check_positive_number(name, value):
    """Raise `ValueError` unless `value` is a number above 0."""
    if isinstance(value, bool) or not isinstance(value, Real) or not float(value) > 0:
        raise ValueError(f"`{name}` must be a number above 0. Received: {value!r}.")
    return float(value)


def check_choice(name, value, choices):
    """Raise `ValueError` unless `value` is one of `choices`."""
    if value not in choices:
        allowed = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"`{name}` must be one of {allowed}. Received: {value!r}.")
    return value


def check_nonnegative_number(name, value):
    """Raise `ValueError` unless `value` is a number of at least 0."""
    if isinstance(value, bool) or not isinstance(value, Real) or not float(value) >= 0:
        raise ValueError(
            f"`{name}` must be a number of at least 0. Received: {value!r}."
        )
    return float(value)
