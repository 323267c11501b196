"""Serves calls to SGLang's own HiCacheFile, line by line, as SglangEngineTest asks for them.

usage: hicache_file.py FOLDER MODEL TP_RANK TP_SIZE MLA

Where torch or the rest of SGLang are not installed, stand-ins take their places, with no more than
the class needs: a tensor of bytes, and a parser of sizes. The class itself is always SGLang's.
"""

import importlib.util
import os
import pathlib
import sys
import types


def stand_in(name, **members):
    module = types.ModuleType(name)
    module.__dict__.update(members)
    sys.modules[name] = module
    return module


class Bytes(bytearray):
    def tofile(self, path):
        with open(path, "wb") as file:
            file.write(self)


class Tensor:
    """A flat tensor of bytes, in as much as HiCacheFile uses it."""

    def __init__(self, data):
        self.data = Bytes(data)

    def numel(self):
        return len(self.data)

    def element_size(self):
        return 1

    def view(self, dtype=None):
        return self

    def contiguous(self):
        return self

    def numpy(self):
        return self.data


def has(name):
    return importlib.util.find_spec(name) is not None


if has("torch"):
    import torch

    def tensor(data):
        return torch.frombuffer(bytearray(data), dtype=torch.uint8)

    def content(value):
        return value.numpy().tobytes()
else:
    stand_in("torch", uint8="uint8", Tensor=Tensor)
    tensor = Tensor

    def content(value):
        return bytes(value.data)


# Without running sglang/__init__.py, which loads all of it.
sglang = pathlib.Path(importlib.util.find_spec("sglang").origin).parent
stand_in("sglang").__path__ = [str(sglang)]
stand_in("sglang.srt").__path__ = [str(sglang / "srt")]
stand_in("sglang.srt.utils").__path__ = []
stand_in("sglang.srt.utils.common", human_readable_int=int)

from sglang.srt.mem_cache.hicache_storage import (  # noqa: E402
    HiCacheFile,
    HiCacheStorageConfig,
)

folder, model, tp_rank, tp_size, mla = sys.argv[1:]
os.environ.pop("SGLANG_HICACHE_FILE_BACKEND_STORAGE_DIR", None)
store = HiCacheFile(
    HiCacheStorageConfig(
        tp_rank=int(tp_rank),
        tp_size=int(tp_size),
        pp_rank=0,
        pp_size=1,
        attn_cp_rank=0,
        attn_cp_size=1,
        is_mla_model=mla == "true",
        enable_storage_metrics=False,
        is_page_first_layout=False,
        model_name=model,
    ),
    file_path=folder,
)
print("> ready", flush=True)
for line in sys.stdin:
    call, key, argument = (line.split() + ["", ""])[:3]
    if call == "set":
        answer = store.set(key, tensor(bytes.fromhex(argument)))
    elif call == "get":
        try:
            found = store.get(key, tensor(bytes(int(argument))))
            answer = "absent" if found is None else content(found).hex()
        except OSError as problem:
            answer = f"failed {problem}"
    elif call == "exists":
        answer = store.exists(key)
    elif call == "prefix":
        answer = store.batch_exists(key.split(","))
    elif call == "clear":
        answer = store.clear()
    else:
        raise ValueError(line)
    print(f"> {answer}", flush=True)
