"""Random sampling with temperature, top-k and top-p."""

import keras
from keras import ops

from keras_transformer.argument_checks import check_number, check_positive_integer
from keras_transformer.decoding.prompt import check_natural_number
from keras_transformer.decoding.search import Search
from keras_transformer.decoding.selection import pick, top
from keras_transformer.decoding.single_path import follow


@keras.saving.register_keras_serializable(package="keras_transformer")
class Sampling(Search):
    """Draws every token from the model's distribution.

    The log-probabilities are divided by `temperature`, cut to the `top_k` most
    probable tokens, then to the smallest set of them whose probability (within the
    `top_k`) reaches `top_p`; the token is drawn from what is left. The result's
    `log_probs` are the model's own, before temperature and cuts.

    One uniform number per source and position is drawn ahead of the loop, so the
    same seed gives the same tokens eager and compiled. (Where TensorFlow compiles
    with XLA, its generator may give other numbers than without.) A source's numbers
    depend on its row and on the batch size.

    Args:
        temperature: float above 0. Below 1 sharpens the distribution.
        top_k: int of at least 1, or None for the whole vocabulary.
        top_p: float in (0, 1]. 1 keeps all tokens.
        seed: an int gives the same draws at every call. A
            `keras.random.SeedGenerator`, or None for a new one with a random seed,
            advances with every call (as `SequenceGenerator` and the `Translator` see
            to; a function of yours under `jax.jit` needs Keras's `StatelessScope`,
            and an exported module must track it).
        length_penalty: float, the exponent alpha of `((5 + length) / 6) ** alpha`,
            by which log-probabilities are divided to give scores.
        min_length: int, tokens that must be generated before the end may be.
        min_ratio: float, the same for each token of the source; the larger of the two
            numbers counts.
        max_ratio: float, tokens that may be generated, end included, for each token
            of the source; None for no such limit.
        no_repeat_ngram: int, size of the n-grams that may not occur twice in a
            hypothesis; 0 turns the rule off.
        banned_tokens: ids that are never generated.

    Raises:
        ValueError: for an option outside its range.

    Examples:
        >>> import numpy as np
        >>> from keras import ops
        >>> def step(token_ids, state, index):
        ...     return ops.zeros((token_ids.shape[0], 9)), state
        >>> search = Sampling(temperature=0.8, top_k=5, seed=1)
        >>> result = search(step, None, np.array([2, 2, 2]), max_length=7)
        >>> ops.convert_to_numpy(result.ids).shape
        (3, 1, 7)

    Reference:
        Holtzman et al., 2020, "The Curious Case of Neural Text Degeneration".
    """

    def __init__(
        self,
        *,
        temperature=1.0,
        top_k=None,
        top_p=1.0,
        seed=None,
        length_penalty=0.0,
        min_length=0,
        min_ratio=0.0,
        max_ratio=None,
        no_repeat_ngram=0,
        banned_tokens=(),
    ):
        super().__init__(
            length_penalty=length_penalty,
            min_length=min_length,
            min_ratio=min_ratio,
            max_ratio=max_ratio,
            no_repeat_ngram=no_repeat_ngram,
            banned_tokens=banned_tokens,
        )
        check_number("temperature", temperature)
        if not 0 < temperature < float("inf"):
            raise ValueError(
                f"`temperature` must be above 0 and finite. Received: {temperature}."
            )
        if top_k is not None:
            check_positive_integer("top_k", top_k)
        check_number("top_p", top_p)
        if not 0 < top_p <= 1:
            raise ValueError(f"`top_p` must be in (0, 1]. Received: {top_p}.")
        is_generator = isinstance(seed, keras.random.SeedGenerator)
        if seed is not None and not is_generator:
            check_natural_number("seed", seed)
            if seed >= 2**31:
                raise ValueError(f"`seed` must be below 2**31. Received: {seed}.")
        self.temperature = float(temperature)
        self.top_k = top_k
        self.top_p = float(top_p)
        self.seed = seed
        self.generator = keras.random.SeedGenerator() if seed is None else seed

    def _search(self, step, prompt):
        draws = keras.random.uniform(
            (ops.shape(prompt.ids)[0], prompt.max_length),
            dtype="float32",
            seed=self.generator,
        )

        def draw(logits, index):
            return self._draw(logits, ops.take(draws, index, axis=1))

        return follow(step, prompt, self.constraints, draw, self.length_penalty)

    def _draw(self, logits, uniform):
        """Inverts the cumulative distribution: `(batch, vocabulary)` to `(batch,)`."""
        vocabulary = logits.shape[-1]
        count = vocabulary if self.top_k is None else min(self.top_k, vocabulary)
        values, tokens = top(logits, count)
        # Softmax without its divisor: the first is the largest and gets weight 1.
        kept = ops.exp((values - values[:, :1]) / self.temperature)
        total = ops.sum(kept, axis=-1, keepdims=True)
        below = ops.cumsum(kept, axis=-1) - kept
        # The most probable token stays even if rounding says otherwise.
        within = ops.logical_or(below < self.top_p * total, ops.arange(count) == 0)
        kept = ops.where(within, kept, ops.zeros_like(kept))
        cumulative = ops.cumsum(kept, axis=-1)
        passed = cumulative <= uniform[:, None] * cumulative[:, -1:]
        choice = ops.sum(ops.cast(passed, "int32"), axis=-1)
        # Kept tokens stand first: rounding must not lead past the last of them.
        last = ops.sum(ops.cast(kept > 0, "int32"), axis=-1) - 1
        choice = ops.clip(choice, 0, ops.maximum(last, 0))
        return pick(tokens, ops.cast(choice, "int32")[:, None])[:, 0]

    def get_config(self):
        """The options as plain values."""
        seed = self.seed
        if isinstance(seed, keras.random.SeedGenerator):
            seed = keras.saving.serialize_keras_object(seed)
        own = {"temperature": self.temperature, "top_k": self.top_k}
        return {**own, "top_p": self.top_p, "seed": seed, **super().get_config()}

    @classmethod
    def from_config(cls, config):
        """A search with the options in `config`."""
        seed = config.get("seed")
        if isinstance(seed, dict):
            seed = keras.saving.deserialize_keras_object(seed)
        return cls(**{**config, "seed": seed})


def seed_generator_of(search):
    """Return the generator that advances with each search, or `None`."""
    generator = getattr(search, "generator", None)
    return generator if isinstance(generator, keras.random.SeedGenerator) else None
