"""What the computation runs on, in words."""

import importlib
import os

import keras


def device_in_words():
    """Return the accelerators' names, or the CPU with its cores."""
    names = _accelerators()
    if names:
        return ", ".join(names)
    return f"CPU, {_cores()} cores"


def backend_in_words():
    """Return the backend's name and version, and Keras's."""
    name = keras.backend.backend()
    version = importlib.import_module(name).__version__
    return f"{name} {version}, Keras {keras.__version__}"


def _cores():
    """Number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count()


def _accelerators():
    """Names of the GPUs or TPUs that the backend sees."""
    name = keras.backend.backend()
    backend = importlib.import_module(name)
    if name == "tensorflow":
        config = backend.config
        return [
            config.experimental.get_device_details(device).get("device_name", "GPU")
            for device in config.list_physical_devices("GPU")
        ]
    if name == "jax":
        return [one.device_kind for one in backend.devices() if one.platform != "cpu"]
    if not backend.cuda.is_available():
        return []
    return [
        backend.cuda.get_device_name(number)
        for number in range(backend.cuda.device_count())
    ]
