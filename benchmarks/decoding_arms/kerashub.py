"""KerasHub's layers with their caches, in KerasHub's samplers."""

from concurrent.futures import ThreadPoolExecutor

import keras_hub
import tensorflow as tf
from keras import ops

from benchmarks.decoding_arms.fastest import Fastest
from benchmarks.decoding_task import PAD, START, TOKENS
from benchmarks.quiet import core_count


class KerasHubDecoder:
    """Decodes with `TransformerDecoder`'s caches, in one `tf.function`.

    Batches run one after the other on all cores, or one on each core, whichever is
    faster. The memory's keys and values are projected once per source.

    Args:
        task: a `DecodingTask`.
        compiled: whether XLA compiles the function.
    """

    def __init__(self, task, compiled):
        size = task.options
        layers = keras_hub.layers
        block = size["intermediate_dim"], size["num_heads"]
        count = range(size["num_layers"])
        self._embedding = layers.ReversibleEmbedding(
            size["vocabulary_size"], size["hidden_dim"]
        )
        self._position = layers.SinePositionEncoding()
        self._encoders = [layers.TransformerEncoder(*block) for _ in count]
        self._decoders = [layers.TransformerDecoder(*block) for _ in count]
        heads = size["num_heads"]
        self._cache_shape = (2, TOKENS, heads, size["hidden_dim"] // heads)
        samplers = {
            1: keras_hub.samplers.GreedySampler(),
            4: keras_hub.samplers.BeamSampler(num_beams=4),
        }
        self._build()
        self._functions = {
            beams: tf.function(self._search(sampler, beams), jit_compile=compiled)
            for beams, sampler in samplers.items()
        }
        self._pool = ThreadPoolExecutor(core_count())
        self._ways = {}

    def __call__(self, batches, beams):
        """Return the generated ids of each batch."""
        key = beams, len(batches), len(batches[0])
        if key not in self._ways:
            self._ways[key] = Fastest([self._in_turn, self._in_threads])
        return self._ways[key](batches, beams)

    def _in_turn(self, batches, beams):
        return [self._functions[beams](batch).numpy()[:, 1:] for batch in batches]

    def _in_threads(self, batches, beams):
        runs = [self._pool.submit(self._functions[beams], batch) for batch in batches]
        return [run.result().numpy()[:, 1:] for run in runs]

    def _build(self):
        """Make the weights, outside the function."""
        ids = ops.full((1, 2), START, dtype="int32")
        x = memory = self._encode(ids, ops.not_equal(ids, PAD))
        for layer in self._decoders:
            x = layer(x, memory)

    def _search(self, sampler, beams):
        def search(source_ids):
            rows = source_ids.shape[0]
            mask = ops.not_equal(source_ids, PAD)
            memory = self._encode(source_ids, mask)
            empty = tuple(ops.zeros((rows, *self._cache_shape)) for _ in self._decoders)
            start = ops.full((rows, 1), START, dtype="int32")
            _, _, crosses = self._step(start, 0, empty, empty, memory, mask, first=True)
            # The hypotheses of a source share them, so they are never moved.
            memory, mask, *crosses = (
                ops.repeat(x, beams, axis=0) for x in (memory, mask, *crosses)
            )

            def following(prompt, cache, index):
                tokens = ops.slice(prompt, (0, index - 1), (rows * beams, 1))
                logits, cache, _ = self._step(
                    tokens, index - 1, cache, crosses, memory, mask
                )
                return logits, None, cache

            prompt = ops.concatenate(
                [start, ops.zeros((rows, TOKENS), dtype="int32")], axis=1
            )
            return sampler(following, prompt, cache=empty, index=1)

        return search

    def _encode(self, source_ids, mask):
        x = self._embed(source_ids, 0)
        for layer in self._encoders:
            x = layer(x, padding_mask=mask)
        return x

    def _embed(self, ids, index):
        x = self._embedding(ids)
        return x + self._position(x, start_index=index)

    def _step(self, tokens, index, caches, crosses, memory, mask, first=False):
        x = self._embed(tokens, index)
        new_caches, new_crosses = [], []
        for layer, cache, cross in zip(self._decoders, caches, crosses, strict=True):
            x, cache, cross = layer(
                x,
                memory,
                encoder_padding_mask=mask,
                self_attention_cache=cache,
                self_attention_cache_update_index=index,
                cross_attention_cache=cross,
                cross_attention_cache_update_index=0 if first else None,
            )
            new_caches.append(cache)
            new_crosses.append(cross)
        logits = self._embedding(x, reverse=True)[:, 0]
        return logits, tuple(new_caches), tuple(new_crosses)
