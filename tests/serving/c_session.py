"""A SavedModel in TensorFlow's C interface, as a model server loads it."""

import ctypes
import math
from ctypes import POINTER, c_char_p, c_int, c_int64, c_size_t, c_void_p

import numpy as np

from tests.serving.bare_tensorflow import TEXT_OPERATIONS, load_library

STRING, STRING_BYTES = 7, 24
DTYPES = {1: np.float32, 3: np.int32, 9: np.int64, 10: np.bool_}


class Output(ctypes.Structure):
    _fields_ = (("operation", c_void_p), ("index", c_int))


class Buffer(ctypes.Structure):
    _fields_ = (("data", c_void_p), ("length", c_size_t), ("deallocator", c_void_p))


SIGNATURES = {
    "TF_NewStatus": (c_void_p, []),
    "TF_DeleteStatus": (None, [c_void_p]),
    "TF_GetCode": (c_int, [c_void_p]),
    "TF_Message": (c_char_p, [c_void_p]),
    "TF_LoadLibrary": (c_void_p, [c_char_p, c_void_p]),
    "TF_NewSessionOptions": (c_void_p, []),
    "TF_DeleteSessionOptions": (None, [c_void_p]),
    "TF_SetConfig": (None, [c_void_p, c_char_p, c_size_t, c_void_p]),
    "TF_NewGraph": (c_void_p, []),
    "TF_DeleteGraph": (None, [c_void_p]),
    "TF_NewBuffer": (POINTER(Buffer), []),
    "TF_DeleteBuffer": (None, [POINTER(Buffer)]),
    "TF_LoadSessionFromSavedModel": (
        c_void_p,
        [
            *(c_void_p, c_void_p, c_char_p, POINTER(c_char_p), c_int),
            *(c_void_p, POINTER(Buffer), c_void_p),
        ],
    ),
    "TF_GraphOperationByName": (c_void_p, [c_void_p, c_char_p]),
    "TF_SessionRun": (
        None,
        [
            *(c_void_p, c_void_p),
            *(POINTER(Output), POINTER(c_void_p), c_int),  # inputs
            *(POINTER(Output), POINTER(c_void_p), c_int),  # outputs
            *(POINTER(c_void_p), c_int, c_void_p, c_void_p),
        ],
    ),
    "TF_CloseSession": (None, [c_void_p, c_void_p]),
    "TF_DeleteSession": (None, [c_void_p, c_void_p]),
    "TF_AllocateTensor": (c_void_p, [c_int, POINTER(c_int64), c_int, c_size_t]),
    "TF_DeleteTensor": (None, [c_void_p]),
    "TF_TensorData": (c_void_p, [c_void_p]),
    "TF_TensorType": (c_int, [c_void_p]),
    "TF_NumDims": (c_int, [c_void_p]),
    "TF_Dim": (c_int64, [c_void_p, c_int]),
    "TF_TensorByteSize": (c_size_t, [c_void_p]),
    "TF_StringInit": (None, [c_void_p]),
    "TF_StringCopy": (None, [c_void_p, c_char_p, c_size_t]),
    "TF_StringGetDataPointer": (c_void_p, [c_void_p]),
    "TF_StringGetSize": (c_size_t, [c_void_p]),
    "TF_StringDealloc": (None, [c_void_p]),
}


class Library:
    """The C functions, with their types, and the operations of TensorFlow Text."""

    def __init__(self):
        functions = load_library()
        for name, (result, arguments) in SIGNATURES.items():
            function = getattr(functions, name)
            function.restype, function.argtypes = result, arguments
            setattr(self, name.removeprefix("TF_"), function)
        self.checked(self.LoadLibrary, str(TEXT_OPERATIONS).encode())

    def checked(self, function, *arguments):
        """Call a function whose last argument is a status."""
        status = self.NewStatus()
        try:
            result = function(*arguments, status)
            if self.GetCode(status):
                raise RunError(self.GetCode(status), self.Message(status).decode())
            return result
        finally:
            self.DeleteStatus(status)

    def tensor(self, array, dtype):
        """Make a tensor of an array, of bytes objects for strings."""
        sizes = (c_int64 * array.ndim)(*array.shape)
        if dtype != STRING:
            array = np.ascontiguousarray(array)
            tensor = self.AllocateTensor(dtype, sizes, array.ndim, array.nbytes)
            ctypes.memmove(self.TensorData(tensor), array.ctypes.data, array.nbytes)
            return tensor
        size = array.size * STRING_BYTES
        tensor = self.AllocateTensor(dtype, sizes, array.ndim, size)
        data = self.TensorData(tensor)
        for place, value in enumerate(array.ravel()):
            string = data + place * STRING_BYTES
            self.StringInit(string)
            self.StringCopy(string, value, len(value))
        return tensor

    def array(self, tensor):
        """Copy a tensor to an array."""
        shape = [self.Dim(tensor, axis) for axis in range(self.NumDims(tensor))]
        dtype, data = self.TensorType(tensor), self.TensorData(tensor)
        if dtype != STRING:
            content = ctypes.string_at(data, self.TensorByteSize(tensor))
            return np.frombuffer(content, DTYPES[dtype]).reshape(shape)
        values = np.empty(math.prod(shape), dtype=object)
        for place in range(values.size):
            string = data + place * STRING_BYTES
            size = self.StringGetSize(string)
            pointer = self.StringGetDataPointer(string)
            values[place] = ctypes.string_at(pointer, size)
        return values.reshape(shape)

    def delete_input(self, tensor):
        """Free a tensor from `tensor`; what a session returns frees its own strings."""
        if self.TensorType(tensor) == STRING and self.TensorData(tensor):
            count = self.TensorByteSize(tensor) // STRING_BYTES
            for place in range(count):
                self.StringDealloc(self.TensorData(tensor) + place * STRING_BYTES)
        self.DeleteTensor(tensor)


class RunError(Exception):
    """An error of the runtime, with the code that gRPC uses as well."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class CSession:
    """A version of a model, to run its signatures.

    Args:
        library: the `Library`.
        folder: of the version.
        config: a `ConfigProto` of the session, such as its numbers of threads.

    Attributes:
        meta_graph: its `MetaGraphDef`.
    """

    def __init__(self, library, folder, config):
        from tensorflow.core.protobuf import meta_graph_pb2

        self._library = library
        self._graph = library.NewGraph()
        buffer = library.NewBuffer()
        tags = (c_char_p * 1)(b"serve")
        options, wanted = library.NewSessionOptions(), config.SerializeToString()
        library.checked(library.SetConfig, options, wanted, len(wanted))
        self._session = library.checked(
            library.LoadSessionFromSavedModel,
            options, None, str(folder).encode(), tags, 1,
            self._graph, buffer,
        )  # fmt: skip
        content = buffer.contents
        message = ctypes.string_at(content.data, content.length)
        library.DeleteBuffer(buffer)
        library.DeleteSessionOptions(options)
        self.meta_graph = meta_graph_pb2.MetaGraphDef.FromString(message)
        self.signatures = {
            name: signature
            for name, signature in self.meta_graph.signature_def.items()
            if not name.startswith("__")
        }

    def run(self, signature, inputs):
        """Run a signature on a dictionary of arrays, and return another.

        Raises:
            RunError: for inputs that it does not take, or an error within.
        """
        library, found = self._library, self._signature(signature)
        self._check(found, inputs)
        names = list(inputs)
        feeds = [self._output(found.inputs[name].name) for name in names]
        given = [
            library.tensor(inputs[name], found.inputs[name].dtype) for name in names
        ]
        results = list(found.outputs)
        fetches = [self._output(found.outputs[name].name) for name in results]
        values = (c_void_p * len(fetches))()
        try:
            library.checked(
                library.SessionRun, self._session, None,
                (Output * len(feeds))(*feeds), (c_void_p * len(given))(*given),
                len(given), (Output * len(fetches))(*fetches), values, len(fetches),
                None, 0, None,
            )  # fmt: skip
            return {
                name: library.array(value)
                for name, value in zip(results, values, strict=True)
            }
        finally:
            for tensor in given:
                library.delete_input(tensor)
            for tensor in filter(None, values):
                library.DeleteTensor(tensor)

    def close(self):
        """Free the session."""
        library = self._library
        library.checked(library.CloseSession, self._session)
        library.checked(library.DeleteSession, self._session)
        library.DeleteGraph(self._graph)

    def _signature(self, name):
        if name not in self.signatures:
            raise RunError(3, f"Serving signature key {name!r} not found.")
        return self.signatures[name]

    def _check(self, signature, inputs):
        if set(inputs) != set(signature.inputs):
            wanted = ", ".join(sorted(signature.inputs))
            given = ", ".join(sorted(inputs)) or "none"
            raise RunError(3, f"The inputs must be {wanted}. Received: {given}.")
        for name, array in inputs.items():
            info = signature.inputs[name]
            dtype = STRING if array.dtype == object else None
            for number, kind in DTYPES.items():
                if array.dtype == kind:
                    dtype = number
            if dtype != info.dtype:
                raise RunError(3, f"Input {name!r} has the wrong dtype {array.dtype}.")
            if array.ndim != len(info.tensor_shape.dim):
                raise RunError(3, f"Input {name!r} has the wrong rank {array.ndim}.")

    def _output(self, name):
        operation, _, index = name.partition(":")
        found = self._library.GraphOperationByName(self._graph, operation.encode())
        return Output(found, int(index or 0))
