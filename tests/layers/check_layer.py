"""The contract that every layer keeps."""

import inspect

import keras
import numpy as np

from tests.backends import BACKEND, array_of

POLICIES = {
    "float32": "float32",
    "mixed_float16": "float16",
    "mixed_bfloat16": "bfloat16",
}
# The first has no other value yet; the others are tested with both elsewhere.
MAY_BE_DEFAULT = ("attention", "cross_attention", "feed_forward")


def check_layer(kind, options, inputs, *, parameters, path, call=None, fit_with=None):
    """Check one layer, made with options that all differ from the defaults.

    Args:
        kind: the class.
        options: all arguments of its constructor.
        inputs: tuple of NumPy arrays to call it on.
        parameters: number of parameters for these inputs.
        path: folder for a saved model.
        call: other arguments of the call.
        fit_with: options that the fit step needs otherwise.
    """
    call = call or {}
    check_config(kind, options)
    layer = kind(**options)
    check_shapes(layer, inputs, call)
    assert sum(np.prod(w.shape) for w in layer.trainable_weights) == parameters
    check_policies(kind, options, inputs, call)
    check_saving(kind(**options, name="one"), inputs, call, path)
    check_fit(kind(**{**options, **(fit_with or {})}), inputs, call)


def arguments_of(kind):
    """Names of the constructor's arguments, those of its base layers included."""
    names = set()
    for base in kind.__mro__:
        if base.__module__.startswith("keras_transformer"):
            names |= set(inspect.signature(base.__init__).parameters)
    return names - {"self", "args", "kwargs", "options"}


def check_config(kind, options):
    """All arguments are in the config, and make the same layer again."""
    config = kind(**options, name="one").get_config()
    assert arguments_of(kind) <= set(config), arguments_of(kind) - set(config)
    assert arguments_of(kind) <= set(options), arguments_of(kind) - set(options)
    defaults = inspect.signature(kind).parameters
    for name, value in options.items():
        if name in defaults and name not in MAY_BE_DEFAULT:
            assert value != defaults[name].default, f"{name} is the default"
        if isinstance(value, (bool, int, float, str)) and "initializer" not in name:
            assert config[name] == value, name
    rebuilt = kind.from_config(config)
    assert rebuilt.get_config() == config
    serialized = keras.saving.serialize_keras_object(rebuilt)
    assert serialized["registered_name"] == f"keras_transformer>{kind.__name__}"
    again = keras.saving.deserialize_keras_object(serialized)
    assert type(again) is kind
    assert again.get_config() == config


def check_shapes(layer, inputs, call):
    """Symbolic shapes and dtypes are those of eager calls, known or not."""
    eager = keras.tree.flatten(layer(*inputs, **call))
    for unknown in (0, 2):
        symbols = [
            keras.KerasTensor((None,) * unknown + x.shape[unknown:], str(x.dtype))
            for x in inputs
        ]
        symbolic = keras.tree.flatten(layer(*symbols, **call))
        assert len(symbolic) == len(eager)
        for one, other in zip(symbolic, eager, strict=True):
            assert len(one.shape) == len(other.shape)
            for known, size in zip(one.shape, other.shape, strict=True):
                assert known == size or (known is None and unknown)
            assert one.dtype == keras.backend.standardize_dtype(other.dtype)
            if unknown:
                assert one.shape[0] is None


def sublayers(layer):
    """All layers that stand in a layer's attributes, at any depth."""
    for value in vars(layer).values():
        if isinstance(value, keras.layers.Layer):
            yield value
            yield from sublayers(value)


def check_policies(kind, options, inputs, call):
    """Layer, sublayers and outputs follow the policy; variables stay float32."""
    for policy, compute in POLICIES.items():
        layer = kind(**options, dtype=policy)
        for output in keras.tree.flatten(layer(*inputs, **call)):
            assert keras.backend.standardize_dtype(output.dtype) == compute
            assert np.isfinite(array_of(output)).all()
        for part in sublayers(layer):
            if part is not options.get("position"):
                assert part.dtype_policy.name == policy, part.path
        assert {variable.dtype for variable in layer.trainable_weights} <= {"float32"}
        assert kind.from_config(layer.get_config()).dtype_policy.name == policy


def model_of(layer, inputs, call):
    """A functional model of one layer, batch and lengths unknown."""
    symbols = [keras.Input((None, *x.shape[2:]), dtype=str(x.dtype)) for x in inputs]
    return keras.Model(symbols, layer(*symbols, **call))


def check_saving(layer, inputs, call, path):
    """A saved and loaded model gives the same output, bit for bit."""
    model = model_of(layer, inputs, call)
    model.save(path / "layer.keras")
    loaded = keras.saving.load_model(path / "layer.keras")
    assert type(loaded.get_layer("one")) is type(layer)
    before, after = (
        keras.tree.flatten(model(list(inputs))),
        keras.tree.flatten(loaded(list(inputs))),
    )
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(array_of(one), array_of(other))


def check_fit(layer, inputs, call):
    """One step is finite and moves every weight."""
    body = model_of(layer, inputs, call)
    output, *scores = body.outputs
    output = keras.ops.mean(keras.layers.Dense(3)(output) ** 2, axis=1)
    for extra in scores:
        output = output + keras.ops.mean(extra**2, axis=(1, 2, 3))[:, None]
    model = keras.Model(body.inputs, output)
    before = [array_of(weight).copy() for weight in layer.trainable_weights]
    model.compile(keras.optimizers.SGD(0.1), "mse", jit_compile=BACKEND == "jax")
    target = np.random.default_rng(1).normal(size=(len(inputs[0]), 3))
    assert np.isfinite(model.train_on_batch(list(inputs), target)).all()
    for old, weight in zip(before, layer.trainable_weights, strict=True):
        new = array_of(weight)
        assert np.isfinite(new).all(), weight.path
        assert np.abs(new - old).max() > 0, weight.path
