"""Training of any Keras model, with `fit` or with its train function alone."""

import keras

from benchmarks.training_task import LEARNING_RATE


class KerasTrainer:
    """Trains a model with `fit`, Adam and the cross-entropy of ids and logits.

    On TensorFlow the batches come from a `tf.data.Dataset`, elsewhere from a generator.

    Args:
        model: of inputs `source_ids` and `target_ids`, not compiled yet.
        task: a `TrainingTask`.
        loss: a Keras loss, Keras's own if not given.
        jit_compile: as for `compile`.
    """

    def __init__(self, model, task, loss=None, jit_compile="auto"):
        model.compile(
            optimizer=keras.optimizers.Adam(LEARNING_RATE),
            loss=loss or keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            jit_compile=jit_compile,
        )
        self._model, self._steps = model, task.steps
        inputs, labels = task.batches()
        if keras.backend.backend() == "tensorflow":
            from tensorflow import data  # other backends do without it

            dataset = data.Dataset.from_tensor_slices((inputs, labels))
            # Else an iteration ends now and then when the tuner's thread wakes up.
            options = data.Options()
            options.autotune.enabled = False
            dataset = dataset.with_options(options)
            self._batches = lambda: dataset
        else:
            batches = [
                ({name: ids[step] for name, ids in inputs.items()}, labels[step])
                for step in range(task.steps)
            ]
            self._batches = lambda: (batch for batch in batches)

    def __call__(self):
        """Train on all batches once, and return the mean loss."""
        history = self._model.fit(
            self._batches(), steps_per_epoch=self._steps, shuffle=False, verbose=0
        )
        return history.history["loss"][0]


class BareKerasTrainer(KerasTrainer):
    """Calls the function that `fit` compiles, and nothing around it; on TensorFlow."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self._model.make_train_function()
        self._step = self._model.train_function

    def __call__(self):
        """Train on all batches once, and return the mean loss of all calls."""
        batches = iter(self._batches())
        logs = {}
        for _ in range(self._steps):
            logs = self._step(batches)
        return float(logs["loss"])
