"""LMCache's store in local memory, driven line by line; see PeerProcess for what the lines say.

An engine that stores a page in it allocates memory of the store, copies the page there and submits
it; one that loads a page asks for the object and copies it out. Those calls are timed, batch by
batch; making room, clearing the target and comparing are not.
"""

import itertools
import mmap
import os
import sys
import time

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("LMCACHE_LOG_LEVEL", "ERROR")
os.environ.setdefault("LMCACHE_TRACK_USAGE", "false")
answers = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)  # whatever a library prints is no answer

import torch  # noqa: E402
from lmcache.utils import CacheEngineKey  # noqa: E402
from lmcache.v1.config import LMCacheEngineConfig  # noqa: E402
from lmcache.v1.memory_management import MemoryFormat  # noqa: E402
from lmcache.v1.metadata import LMCacheMetadata  # noqa: E402
from lmcache.v1.storage_backend.local_cpu_backend import LocalCPUBackend  # noqa: E402

MODEL = "model"


def anonymous(size):
    """Returns private memory that has been touched, as a tensor of bytes."""
    area = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return torch.frombuffer(area, dtype=torch.uint8).fill_(0)


class Rounds:
    """The objects of a round, in batches, and the store that they go to."""

    def __init__(self, backend, round_bytes, object_bytes, batch):
        self.backend = backend
        self.size = object_bytes
        self.source = anonymous(round_bytes)
        self.source.view(torch.int64).random_()
        self.target = anonymous(round_bytes)
        self.shape = torch.Size([2, 1, object_bytes // 2, 1])
        places = range(round_bytes // object_bytes)
        self.batches = [places[i : i + batch] for i in range(0, len(places), batch)]
        self.numbers = itertools.count()
        self.keys = {}

    def put(self):
        self.backend.clear()
        round_number = next(self.numbers)
        self.keys = {
            place: CacheEngineKey(MODEL, 1, 0, round_number << 64 | place, torch.uint8)
            for batch in self.batches
            for place in batch
        }
        begin = time.perf_counter_ns()
        for batch in self.batches:
            objects = []
            for place in batch:
                stored = self.backend.allocate(self.shape, torch.uint8, MemoryFormat.KV_2LTD)
                stored.tensor.view(-1).copy_(self.piece(self.source, place))
                objects.append(stored)
            self.backend.batched_submit_put_task([self.keys[place] for place in batch], objects)
            for stored in objects:
                stored.ref_count_down()
        return time.perf_counter_ns() - begin

    def get(self):
        self.target.fill_(0)
        begin = time.perf_counter_ns()
        for batch in self.batches:
            for place in batch:
                stored = self.backend.get_blocking(self.keys[place])
                self.piece(self.target, place).copy_(stored.tensor.view(-1))
                stored.ref_count_down()
        took = time.perf_counter_ns() - begin
        if not torch.equal(self.source, self.target):
            raise SystemExit("what was got is not what was put")
        return took

    def piece(self, memory, place):
        return memory[place * self.size : (place + 1) * self.size]


def open_backend():
    metadata = LMCacheMetadata(
        model_name=MODEL,
        world_size=1,
        local_world_size=1,
        worker_id=0,
        local_worker_id=0,
        kv_dtype=torch.uint8,
        kv_shape=(1, 2, 256, 1, 128),
    )
    config = LMCacheEngineConfig.from_defaults(
        chunk_size=256, local_cpu=True, max_local_cpu_size=1.0
    )
    return LocalCPUBackend(config, metadata, dst_device="cpu")


def main():
    backend = open_backend()
    rounds = None
    for line in sys.stdin:
        command, *numbers = line.split()
        if command == "prepare":
            backend.clear()
            rounds = Rounds(backend, *map(int, numbers))
            answer = 0
        else:
            answer = {"put": rounds.put, "get": rounds.get}[command]()
        answers.write(f"{answer}\n")
    answers.flush()
    os._exit(0)  # without waiting for threads of libraries


if __name__ == "__main__":
    main()
