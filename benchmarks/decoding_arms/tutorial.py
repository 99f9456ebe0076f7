"""The loop of TensorFlow's tutorial: the whole model again for every token."""

import numpy as np
import tensorflow as tf

from benchmarks.decoding_task import END, PAD, START, TOKENS, random_model


class TutorialDecoder:
    """Decodes with no cache, step by step in Python, the model in a `tf.function`.

    Args:
        task: a `DecodingTask`.
    """

    def __init__(self, task):
        model = random_model(task)
        ids = tf.TensorSpec((None, None), tf.int32)

        @tf.function(input_signature=[ids, ids])
        def last_logits(source_ids, target_ids):
            inputs = {"source_ids": source_ids, "target_ids": target_ids}
            return model(inputs, training=False)[:, -1]

        self._last_logits = last_logits

    def __call__(self, batches, beams):
        """Return the generated ids of each batch."""
        search = self._greedy if beams == 1 else self._beam
        return [search(batch, beams) for batch in batches]

    def _greedy(self, source_ids, beams):
        target_ids = np.full((len(source_ids), 1), START, "int32")
        for _ in range(TOKENS):
            tokens = self._allowed(source_ids, target_ids).argmax(axis=1)
            target_ids = np.append(target_ids, tokens[:, None], axis=1).astype("int32")
        return target_ids[:, 1:]

    def _beam(self, source_ids, beams):
        batch = len(source_ids)
        source_ids = np.repeat(source_ids, beams, axis=0)
        target_ids = np.full((batch * beams, 1), START, "int32")
        totals = np.tile([[0.0] + [-np.inf] * (beams - 1)], (batch, 1))
        for _ in range(TOKENS):
            logits = self._allowed(source_ids, target_ids)
            log_probs = tf.nn.log_softmax(logits).numpy()
            vocabulary = log_probs.shape[1]
            candidates = totals.reshape(-1, 1) + log_probs
            candidates = candidates.reshape(batch, beams * vocabulary)
            totals, places = (x.numpy() for x in tf.math.top_k(candidates, beams))
            rows = places // vocabulary + beams * np.arange(batch)[:, None]
            tokens = (places % vocabulary).reshape(-1, 1)
            target_ids = np.append(target_ids[rows.reshape(-1)], tokens, axis=1)
            target_ids = target_ids.astype("int32")
        return target_ids[::beams, 1:]  # the best of each source

    def _allowed(self, source_ids, target_ids):
        logits = self._last_logits(source_ids, target_ids).numpy()
        logits[:, [PAD, END]] = -np.inf
        return logits
