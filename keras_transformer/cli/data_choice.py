"""Which settings of the data go together."""


def check_data(settings):
    """Raise `ValueError` unless settings name one corpus, as a whole."""
    kinds = [name for name in ("pairs", "source", "corpus") if getattr(settings, name)]
    if len(kinds) != 1:
        raise ValueError(
            "One of `pairs`, `source` with `target`, and `corpus` must be given. "
            f"Received: {', '.join(kinds) or 'none'}."
        )
    for prefix in ("", "validation_"):
        sides = [getattr(settings, f"{prefix}{side}") for side in ("source", "target")]
        if sides.count(None) == 1:
            raise ValueError(
                f"`{prefix}source` and `{prefix}target` go together. "
                f"Received: {sides[0]} and {sides[1]}."
            )
    if settings.validation_pairs and settings.validation_source:
        raise ValueError(
            "`validation_pairs` and `validation_source` exclude each other. Received: "
            f"{settings.validation_pairs} and {settings.validation_source}."
        )
    if settings.corpus and (settings.validation_pairs or settings.validation_source):
        raise ValueError(
            "Validation files must be left out with `corpus`, which has its own. "
            f"Received: corpus {settings.corpus}."
        )
    if settings.held_out is not None and (
        settings.validation_pairs or settings.validation_source
    ):
        raise ValueError(
            "`held_out` must be left out with validation files, beside which nothing "
            f"is held out. Received: {settings.held_out}."
        )
