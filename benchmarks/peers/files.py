"""Stores that keep a file per object, driven line by line; see FilePeers for what the lines say.

    python files.py loop | sglang | nixl | lmcache

Only a store's own calls are timed, batch by batch. Removing what the round before has left, sync(2),
changing the source, clearing the target and comparing are not.
"""

import ctypes
import mmap
import os
import shutil
import sys
import time

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("LMCACHE_LOG_LEVEL", "ERROR")
os.environ.setdefault("LMCACHE_TRACK_USAGE", "false")
os.environ.setdefault("NIXL_LOG_LEVEL", "ERROR")
answers = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)  # whatever a library prints is no answer

import numpy  # noqa: E402

libc = ctypes.CDLL(None)
libc.memcmp.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
EXISTS_KEYS = 10_000


class Memory:
    """Private anonymous memory that has been touched."""

    def __init__(self, size):
        self.area = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self.bytes = numpy.frombuffer(self.area, dtype=numpy.uint8)
        self.bytes[:] = 0
        self.words = self.bytes.view(numpy.uint64)
        self.view = memoryview(self.area)
        self.address = self.bytes.ctypes.data
        self.size = size


class Loop:
    """One file that is rewritten in place: the least that could store anything."""

    def __init__(self, folder, size, source, target):
        self.size, self.source, self.target = size, source, target
        self.file = os.open(f"{folder}/slab", os.O_RDWR | os.O_CREAT, 0o644)
        for at in range(0, source.size, size):
            os.pwrite(self.file, source.view[at : at + size], at)

    def before(self):
        pass

    def put(self, keys, first):
        for at in range(first * self.size, (first + len(keys)) * self.size, self.size):
            assert os.pwrite(self.file, self.source.view[at : at + self.size], at) == self.size

    def get(self, keys, first):
        for at in range(first * self.size, (first + len(keys)) * self.size, self.size):
            assert os.preadv(self.file, [self.target.view[at : at + self.size]], at) == self.size

    def close(self):
        os.close(self.file)


class SGLang:
    """HiCacheFile."""

    def __init__(self, folder, size, source, target):
        import torch
        from sglang.srt.mem_cache import hicache_storage as storage

        self.folder, self.size = folder, size
        self.source = torch.from_numpy(source.bytes)
        self.target = torch.from_numpy(target.bytes)
        self.open = lambda: storage.HiCacheFile(
            storage.HiCacheStorageConfig(
                tp_rank=0,
                tp_size=1,
                pp_rank=0,
                pp_size=1,
                attn_cp_rank=0,
                attn_cp_size=1,
                is_mla_model=False,
                enable_storage_metrics=False,
                is_page_first_layout=True,
                model_name="model",
                extra_config=None,
            ),
            folder,
        )

    def before(self):
        empty(self.folder)
        self.store = self.open()

    def pieces(self, memory, first, count):
        return [
            memory[at : at + self.size]
            for at in range(first * self.size, (first + count) * self.size, self.size)
        ]

    def put(self, keys, first):
        assert self.store.batch_set(keys, self.pieces(self.source, first, len(keys)))

    def get(self, keys, first):
        got = self.store.batch_get(keys, self.pieces(self.target, first, len(keys)))
        assert all(each is not None for each in got)

    def exists(self, keys):  # its batch_exists ends at the first that is not there
        return [self.store.exists(key) for key in keys]

    def close(self):
        empty(self.folder)


class Nixl:
    """The POSIX plugin, called as SGLang calls it, through the page cache."""

    def __init__(self, queue, folder, size, source, target):
        try:
            from nixl._api import nixl_agent, nixl_agent_config
        except ImportError:
            from nixl_cu12._api import nixl_agent, nixl_agent_config

        self.folder, self.size, self.source, self.target = folder, size, source, target
        self.agent = nixl_agent(
            f"{queue}-{size}-{abs(hash(folder))}",
            nixl_agent_config(backends=[], enable_prog_thread=False),
        )
        self.agent.create_backend("POSIX", {queue: "true"})
        self.registered = [
            self.agent.register_memory([(m.address, m.size, 0, "")], "DRAM", backends=["POSIX"])
            for m in (source, target)
        ]

    def before(self):
        empty(self.folder)

    def transfer(self, how, keys, memory, first, flags):
        files = [os.open(f"{self.folder}/{key}", flags, 0o644) for key in keys]
        there = self.agent.register_memory(
            [(0, self.size, file, "") for file in files], "FILE", backends=["POSIX"]
        )
        begin = memory.address + first * self.size
        handle = self.agent.initialize_xfer(
            how,
            self.agent.get_xfer_descs(
                [(begin + i * self.size, self.size, 0) for i in range(len(files))], "DRAM"
            ),
            self.agent.get_xfer_descs([(0, self.size, file) for file in files], "FILE"),
            self.agent.name,
            backends=["POSIX"],
        )
        state = self.agent.transfer(handle)
        while state == "PROC":
            state = self.agent.check_xfer_state(handle)
        assert state == "DONE", state
        self.agent.release_xfer_handle(handle)
        self.agent.deregister_memory(there)
        for file in files:
            os.close(file)

    def put(self, keys, first):
        self.transfer("WRITE", keys, self.source, first, os.O_RDWR | os.O_CREAT)

    def get(self, keys, first):
        self.transfer("READ", keys, self.target, first, os.O_RDWR)

    def exists(self, keys):
        paths = [(0, 0, 0, f"{self.folder}/{key}") for key in keys]
        return [
            each is not None for each in self.agent.query_memory(paths, "POSIX", mem_type="FILE")
        ]

    def close(self):
        for memory in self.registered:
            self.agent.deregister_memory(memory)
        empty(self.folder)


class LMCacheFiles:
    """The native client of LMCache for file systems, with 4 threads."""

    def __init__(self, folder, size, source, target):
        self.folder, self.size, self.source, self.target = folder, size, source, target
        self.client = None

    def before(self):
        from lmcache.lmcache_fs import LMCacheFSClient

        self.close()
        self.client = LMCacheFSClient(self.folder, 4, "", False, 0)

    def wait(self, number):
        import select

        events = self.client.event_fd()
        while True:
            for done, ok, error, answer in self.client.drain_completions():
                if done == number:
                    assert ok, error
                    return answer
            select.select([events], [], [], 5)

    def names(self, keys):
        return [f"model@1@0@{key}" for key in keys]

    def pieces(self, memory, first, count):
        return [
            memory.view[at : at + self.size]
            for at in range(first * self.size, (first + count) * self.size, self.size)
        ]

    def put(self, keys, first):
        pieces = self.pieces(self.source, first, len(keys))
        self.wait(self.client.submit_batch_set(self.names(keys), pieces))

    def get(self, keys, first):
        pieces = self.pieces(self.target, first, len(keys))
        self.wait(self.client.submit_batch_get(self.names(keys), pieces))

    def exists(self, keys):
        return self.wait(self.client.submit_batch_exists(self.names(keys)))

    def close(self):
        if self.client is not None:
            self.client.close()
            self.client = None
        empty(self.folder)


class LMCacheDisk:
    """LMCache's LocalDiskBackend; an object goes through its memory, and the copies count."""

    pool = None
    loop = None

    def __init__(self, folder, size, source, target):
        import asyncio
        import threading

        import torch
        from lmcache.v1.config import LMCacheEngineConfig
        from lmcache.v1.metadata import LMCacheMetadata
        from lmcache.v1.storage_backend.local_cpu_backend import LocalCPUBackend
        from lmcache.v1.storage_backend.local_disk_backend import LocalDiskBackend

        self.size = size
        self.source = torch.from_numpy(source.bytes)
        self.target = torch.from_numpy(target.bytes)
        self.shape = torch.Size([2, 1, size // 2, 1])
        metadata = LMCacheMetadata(
            model_name="model",
            world_size=1,
            local_world_size=1,
            worker_id=0,
            local_worker_id=0,
            kv_dtype=torch.uint8,
            kv_shape=(1, 2, 256, 1, 128),
        )

        def config(**more):
            return LMCacheEngineConfig.from_defaults(
                chunk_size=256, local_cpu=False, max_local_cpu_size=1.0, **more
            )

        if LMCacheDisk.loop is None:
            LMCacheDisk.loop = asyncio.new_event_loop()
            threading.Thread(target=self.loop.run_forever, daemon=True).start()
            LMCacheDisk.pool = LocalCPUBackend(config(), metadata, dst_device="cpu")
        self.backend = LocalDiskBackend(
            config(local_disk=folder, max_local_disk_size=8.0),
            self.loop,
            self.pool,
            dst_device="cpu",
            metadata=metadata,
        )
        self.stored = []

    def key(self, key):
        import torch
        from lmcache.utils import CacheEngineKey

        return CacheEngineKey("model", 1, 0, int(key, 16), torch.uint8)

    def before(self):
        for key in self.stored:
            self.backend.remove(self.key(key))
        self.stored = []

    def put(self, keys, first):
        import threading

        import torch
        from lmcache.v1.memory_management import MemoryFormat

        done = threading.Semaphore(0)
        objects = []
        for at in range(first * self.size, (first + len(keys)) * self.size, self.size):
            memory = self.pool.allocate(self.shape, torch.uint8, MemoryFormat.KV_2LTD)
            assert memory is not None
            memory.tensor.view(-1).copy_(self.source[at : at + self.size])
            objects.append(memory)
        self.backend.batched_submit_put_task(
            [self.key(key) for key in keys],
            objects,
            on_complete_callback=lambda key: done.release(),
        )
        for memory in objects:
            memory.ref_count_down()
        for _ in keys:
            done.acquire()
        self.stored.extend(keys)

    def get(self, keys, first):
        objects = self.backend.batched_get_blocking([self.key(key) for key in keys])
        for i, memory in enumerate(objects):
            at = (first + i) * self.size
            self.target[at : at + self.size].copy_(memory.tensor.view(-1))
            memory.ref_count_down()

    def exists(self, keys):
        return [self.backend.contains(self.key(key)) for key in keys]

    def close(self):
        self.before()
        self.backend.close()


STORES = {
    "loop": {"in place": Loop},
    "sglang": {"SGLang": SGLang},
    "nixl": {
        "NIXL aio": lambda *rest: Nixl("use_aio", *rest),
        "NIXL uring": lambda *rest: Nixl("use_uring", *rest),
        "NIXL posixaio": lambda *rest: Nixl("use_posix_aio", *rest),
    },
    "lmcache": {"LMCache fs": LMCacheFiles, "LMCache disk": LMCacheDisk},
}


def empty(folder):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)


class Rounds:
    """The objects of a round, in batches, and the stores that they go to."""

    def __init__(self, makers, folder, round_bytes, object_bytes, batch, source, target):
        self.batch, self.source, self.target = batch, source, target
        self.count = round_bytes // object_bytes
        self.round = 0
        self.keys = []
        self.stores = []
        for number, make in enumerate(makers):
            own = f"{folder}/{number}"
            empty(own)
            self.stores.append(make(own, object_bytes, source, target))

    def time(self, work):
        nanos = 0
        for first in range(0, self.count, self.batch):
            keys = self.keys[first : first + self.batch]
            begin = time.perf_counter_ns()
            work(keys, first)
            nanos += time.perf_counter_ns() - begin
        return nanos

    def put(self, number):
        store = self.stores[number]
        self.round += 1
        self.keys = [f"{self.round:016x}{i:048x}" for i in range(self.count)]
        self.source.words[::512] += numpy.uint64(self.round)
        store.before()
        os.sync()
        return self.time(store.put)

    def get(self, number):
        self.target.bytes[:] = 0
        nanos = self.time(self.stores[number].get)
        if libc.memcmp(self.source.address, self.target.address, self.source.size) != 0:
            raise SystemExit("what was got is not what was put")
        return nanos

    def exists(self, number):
        store = self.stores[number]
        half = EXISTS_KEYS // 2
        keys = [self.keys[i % self.count] for i in range(half)] + [f"ffff{self.round:012x}{i:048x}" for i in range(half)]
        order = numpy.random.default_rng(7).permutation(len(keys))
        asked = [keys[i] for i in order]
        answers = []
        nanos = 0
        for first in range(0, len(asked), self.batch):
            some = asked[first : first + self.batch]
            begin = time.perf_counter_ns()
            answers.extend(store.exists(some))
            nanos += time.perf_counter_ns() - begin
        if [bool(answer) for answer in answers] != [bool(i < half) for i in order]:
            raise SystemExit("what is there is not what was put")
        return nanos

    def rest(self, number):
        self.stores[number].before()
        return 0

    def close(self):
        for store in self.stores:
            store.close()


def main():
    makers = STORES[sys.argv[1]]
    memories = None
    rounds = None
    for line in sys.stdin:
        command, *words = line.split()
        if command == "names":
            answers.write(",".join(makers) + "\n")
            continue
        if command == "prepare":
            folder, *numbers = words
            round_bytes, object_bytes, batch = map(int, numbers)
            if memories is None:
                memories = [Memory(round_bytes), Memory(round_bytes)]
                step = 1 << 20
                words = memories[0].words
                random = numpy.random.Generator(numpy.random.SFC64(1))
                for i in range(0, words.size, step):
                    words[i : i + step] = random.integers(
                        0, 2**64 - 1, size=step, dtype=numpy.uint64
                    )
            rounds = Rounds(
                makers.values(), folder, round_bytes, object_bytes, batch, *memories
            )
            answer = 0
        elif command == "finish":
            rounds.close()
            answer = 0
        else:
            answer = getattr(rounds, command)(int(words[0]))
        answers.write(f"{answer}\n")
    answers.flush()
    os._exit(0)  # without waiting for threads of libraries


if __name__ == "__main__":
    main()
