"""Settings for all tests. The backend is the one that KERAS_BACKEND names."""

import atexit
import os
import shutil
import tempfile
from importlib.metadata import PackageNotFoundError, version

import keras
import pytest
from hypothesis import settings

# Compiling costs more than running what tests compile; read when XLA first starts.
QUICK_TO_COMPILE = [
    "--xla_backend_optimization_level=0",
    "--xla_llvm_disable_expensive_passes=true",
]
# Halves the time again. XLA ends the process for a flag that it does not know, so
# that later releases go without, until they have been tried.
KNOWN_BEFORE = {"tensorflow": (2, 22), "jaxlib": (0, 11)}


def is_before(package, bound):
    """Return whether the installed release, if there is one, is before a bound."""
    try:
        return tuple(map(int, version(package).split(".")[:2])) < bound
    except PackageNotFoundError:
        return True


if all(is_before(*known) for known in KNOWN_BEFORE.items()):
    QUICK_TO_COMPILE.append("--xla_cpu_use_fusion_emitters=false")
os.environ.setdefault("XLA_FLAGS", " ".join(QUICK_TO_COMPILE))

SEED = 20170612

if keras.backend.backend() == "jax":
    import jax

    # The same small functions are compiled for most test modules. A folder for each
    # process and run, since JAX does not write its files at one go.
    cache = tempfile.mkdtemp(prefix="jax-")
    atexit.register(shutil.rmtree, cache, ignore_errors=True)
    jax.config.update("jax_compilation_cache_dir", cache)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)

settings.register_profile("deterministic", derandomize=True, deadline=None)
settings.load_profile("deterministic")


def pytest_report_header():
    """Show the backend and the versions next to pytest's own header."""
    return f"keras {keras.__version__}, backend {keras.backend.backend()}"


def pytest_collection_modifyitems(items):
    """Skip the tests marked `tensorflow_only` when another backend is chosen."""
    backend = keras.backend.backend()
    if backend == "tensorflow":
        return
    skip = pytest.mark.skip(reason=f"needs TensorFlow; the backend is {backend}")
    for item in items:
        if item.get_closest_marker("tensorflow_only"):
            item.add_marker(skip)


@pytest.fixture(autouse=True)
def fresh_keras_state():
    """Start each test from the same seed, and undo what it set globally."""
    dtype_policy = keras.config.dtype_policy()
    floatx = keras.config.floatx()
    keras.utils.set_random_seed(SEED)
    yield
    keras.config.set_dtype_policy(dtype_policy)
    keras.config.set_floatx(floatx)
    keras.utils.clear_session(free_memory=False)


@pytest.fixture(autouse=True, scope="module")
def forget_compiled_functions():
    """Free what JAX compiled for a test module: it keeps all, gigabytes by the end."""
    yield
    if keras.backend.backend() == "jax":
        import jax

        jax.clear_caches()
