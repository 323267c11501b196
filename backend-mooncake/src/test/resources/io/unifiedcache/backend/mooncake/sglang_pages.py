"""Writes pages to a Mooncake cluster, or reads them, with SGLang's own classes on a CPU.

What is SGLang's: MooncakeStore, MooncakeDirectLinker, its layer counter, the views of device pools,
and whatever these import of the storage interface. What is not there without a GPU or without a
model (kernels, model configurations, the engine's memory pools and its state) is played by stand-ins;
so is PyTorch where it is not installed, by arrays of NumPy that have an address.

    sglang_pages.py store|linker put|get MASTER MODEL TAG LAYERS PIECE_BYTES PAGE_KEY...

A page has a piece of keys and a piece of values for each layer. Prints the SHA-256 of each page:
the pieces of keys, layer after layer, then those of values.
"""

import hashlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import random
import sys
import types

os.environ["CUDA_VISIBLE_DEVICES"] = ""

MEM_CACHE = "sglang.srt.mem_cache"
LINKER = MEM_CACHE + ".storage.mooncake_store.mooncake_direct_linker"
REAL = {
    MEM_CACHE + ".hicache_storage",
    MEM_CACHE + ".storage.mooncake_store.mooncake_store",
    LINKER,
    MEM_CACHE + ".hybrid_cache.linker_pool_assembler",
    MEM_CACHE + ".unified_cache.component_type",
    MEM_CACHE + ".unified_cache.unified_cache_linker",
    "sglang.srt.environ",
}
# Packages whose own code is not run, so that they import nothing.
PACKAGES = [
    "sglang",
    "sglang.srt",
    MEM_CACHE,
    MEM_CACHE + ".storage",
    MEM_CACHE + ".storage.mooncake_store",
    MEM_CACHE + ".hybrid_cache",
    MEM_CACHE + ".unified_cache",
]


class Nothing:
    """What a module that is not there would offer."""

    def __init__(self, *args, **named):
        pass

    def __init_subclass__(cls, **named):
        pass

    def __call__(self, *args, **named):
        return self

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing()


class StandIn(types.ModuleType):
    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        value = type(name, (Nothing,), {}) if name[0].isupper() else Nothing()
        setattr(self, name, value)
        return value


class StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        if name.startswith("sglang.") and name not in REAL:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return StandIn(spec.name)

    def exec_module(self, module):
        pass


def arrays_as_torch():
    """Returns a module like torch whose tensors are arrays: all that the classes compute with them."""
    import numpy

    class Tensor(numpy.ndarray):
        def data_ptr(self):
            return self.ctypes.data

        def untyped_storage(self):
            return types.SimpleNamespace(data_ptr=self.data_ptr, nbytes=lambda: self.nbytes)

        def numel(self):
            return self.size

        def element_size(self):
            return self.itemsize

        def stride(self, dimension):
            return self.strides[dimension] // self.itemsize

        def detach(self):
            return self

        def to(self, device, dtype):
            return self.astype(dtype)

        def contiguous(self):
            return numpy.ascontiguousarray(self).view(Tensor)

        def numpy(self):
            return self.view(numpy.ndarray)

        def remainder(self, divisor):
            return self % divisor

    module = StandIn("torch")
    module.Tensor = Tensor
    module.uint8, module.int64 = numpy.uint8, numpy.int64
    module.arange = lambda end: numpy.arange(end).view(Tensor)
    module.zeros = lambda shape, dtype: numpy.zeros(shape, dtype).view(Tensor)
    module.frombuffer = lambda data, dtype: numpy.frombuffer(data, dtype).view(Tensor)
    module.any, module.equal = numpy.any, numpy.array_equal
    module.distributed = types.SimpleNamespace(is_available=lambda: False)
    return module


if importlib.util.find_spec("torch") is None:
    sys.modules["torch"] = arrays_as_torch()

import torch  # noqa: E402


class Event:
    def record(self, *args):
        pass

    def synchronize(self):
        pass


root = importlib.util.find_spec("sglang").submodule_search_locations[0]
for package in PACKAGES:
    module = types.ModuleType(package)
    module.__path__ = [os.path.join(root, *package.split(".")[1:])]
    sys.modules[package] = module
sys.meta_path.insert(0, StandIns())

import sglang.srt.mem_cache.unified_cache.components as components  # noqa: E402
from sglang.srt.mem_cache.unified_cache.component_type import ComponentType  # noqa: E402

components.ComponentType = ComponentType

import sglang.srt.mem_cache.storage.mooncake_store.mooncake_direct_linker as linker_module  # noqa: E402
import sglang.srt.mem_cache.unified_cache.unified_cache_linker as base_module  # noqa: E402
from sglang.srt.mem_cache.hicache_storage import (  # noqa: E402
    HiCacheStorageConfig,
    PoolName,
    PoolTransfer,
)
from sglang.srt.mem_cache.hybrid_cache.linker_pool_assembler import (  # noqa: E402
    DevicePoolEntry,
    DevicePoolGroup,
)
from sglang.srt.mem_cache.storage.mooncake_store.mooncake_store import MooncakeStore  # noqa: E402

PAGE_TOKENS = 4

kind, action, master, model, tag, layers, piece_bytes = sys.argv[1:8]
keys = sys.argv[8:]
layers, piece_bytes = int(layers), int(piece_bytes)
config = {
    "master_server_address": master,
    "local_hostname": "127.0.0.1",
    "metadata_server": "P2PHANDSHAKE",
    "protocol": "tcp",
    "global_segment_size": 0,
    "extra_backend_tag": tag,
}
tokens = torch.arange(len(keys) * PAGE_TOKENS)


def memory(*shape):
    if action == "get":
        return torch.zeros(shape, dtype=torch.uint8)
    size = 1
    for each in shape:
        size *= each
    return torch.frombuffer(bytearray(random.randbytes(size)), dtype=torch.uint8).reshape(shape)


def show(pieces):
    """Prints the hash of each page: piece by piece, the memory of all pages of a piece."""
    for page in range(len(keys)):
        page_hash = hashlib.sha256()
        for piece in pieces:
            page_hash.update(piece[page].contiguous().numpy().tobytes())
        print("page", page_hash.hexdigest())


def require(done, what):
    if not done:
        sys.exit("SGLang says no: %s" % what)


class HostPool:
    """A pool of the host tier whose pages are in one piece of keys and one of values."""

    page_size = PAGE_TOKENS
    layout = "page_first"

    def __init__(self):
        self.k_buffer = memory(len(keys), layers, piece_bytes)
        self.v_buffer = memory(len(keys), layers, piece_bytes)
        self.kv_buffer = self.k_buffer

    def get_hybrid_pool_buffer(self):
        return [self.k_buffer, self.v_buffer]

    def get_ksize_per_token(self):
        return layers * piece_bytes // PAGE_TOKENS

    def get_page_buffer_meta(self, indices):
        pointers = []
        for slot in indices[::PAGE_TOKENS].tolist():
            for buffer in (self.k_buffer, self.v_buffer):
                pointers.append(buffer[slot // PAGE_TOKENS].data_ptr())
        return pointers, [layers * piece_bytes] * len(pointers)


def run_store():
    store = MooncakeStore(
        HiCacheStorageConfig(
            tp_rank=0,
            tp_size=1,
            pp_rank=0,
            pp_size=1,
            attn_cp_rank=0,
            attn_cp_size=1,
            is_mla_model=False,
            enable_storage_metrics=False,
            is_page_first_layout=True,
            model_name=model,
            extra_config=config,
        )
    )
    pool = HostPool()
    store.mem_pool_host = pool
    store.register_mem_pool_host(pool)
    if action == "put":
        require(all(store.batch_set_v1(keys, tokens)), "batch_set_v1")
    require(store.batch_exists(keys) == len(keys), "batch_exists")
    if action == "get":
        require(all(store.batch_get_v1(keys, tokens)), "batch_get_v1")
    show(
        [pool.k_buffer[:, layer] for layer in range(layers)]
        + [pool.v_buffer[:, layer] for layer in range(layers)]
    )


def run_linker():
    row = piece_bytes // PAGE_TOKENS
    buffers = [memory(len(keys) * PAGE_TOKENS, row) for _ in range(2 * layers)]
    group = DevicePoolGroup(
        [
            DevicePoolEntry(
                name=PoolName.KV,
                indices_from_pool=PoolName.KV,
                device_pool=None,
                components=[buffers],
                layer_mapping={layer: (layer, layers + layer) for layer in range(layers)},
                page_size=PAGE_TOKENS,
                rows_are_pages=False,
            )
        ],
        layers,
        PAGE_TOKENS,
    )
    device = types.SimpleNamespace(Event=Event, current_stream=lambda: None)
    linker_module.device_module = base_module.device_module = device
    linker_module.resolve_hybrid_device_pool_group = lambda **named: group
    linker_module.get_parallel = lambda: types.SimpleNamespace(tp_size=1)
    linker_module.get_model = lambda: types.SimpleNamespace(model_path=model)
    linker = linker_module.MooncakeDirectLinker(
        types.SimpleNamespace(enable_linker_mla_dedup=False),
        types.SimpleNamespace(
            page_size=PAGE_TOKENS,
            token_to_kv_pool_allocator=types.SimpleNamespace(get_kvcache=lambda: None),
            attn_tp_cache_group=None,
            tp_cache_group=None,
            pp_rank=0,
            pp_size=1,
            attn_cp_rank=0,
            attn_cp_size=1,
        ),
        components=set(),
        extra_config=config,
    )
    transfer = PoolTransfer(name=PoolName.KV, keys=keys, device_indices=tokens)
    if action == "put":
        require(linker.offload([transfer]), "offload")
        require(linker.offload_results.get(timeout=60), "the result of offload")
    found = linker.lookup("request", [PoolTransfer(name=PoolName.KV, keys=keys)])
    require(found == list(range(1, len(keys) + 1)), "lookup: %s" % found)
    if action == "get":
        require(linker.load("request", [transfer]), "load")
        require(
            linker.finish_layer_wise_loading(linker.start_layer_wise_loading()), "the end of load"
        )
    linker.close()
    show([buffer.reshape(len(keys), piece_bytes) for buffer in buffers])


run_store() if kind == "store" else run_linker()
sys.stdout.flush()
