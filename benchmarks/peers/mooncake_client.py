"""Mooncake's own Python client, driven line by line; see PeerProcess for what the lines say.

    python mooncake_client.py MASTER [LAYERS]

Only Mooncake's calls are timed, batch by batch; the lists they are given are made before. "put" makes
the calls that the store makes: it puts a batch and then asks whether all of it is there. "put-unseen"
puts and takes the answer for it, which is 0 also where another writer has died at an object. With
LAYERS an object is a page that has a piece of keys and one of values for each layer, and "get" reads
all objects at once in a session, layer by layer.
"""

import ctypes
import itertools
import mmap
import os
import random
import sys
import time

answers = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)  # whatever a library prints is no answer

from mooncake.store import MooncakeDistributedStore  # noqa: E402

MASTER = sys.argv[1]
LAYERS = int(sys.argv[2]) if len(sys.argv) > 2 else 0


libc = ctypes.CDLL(None)
libc.memcmp.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]


class Memory:
    """Private memory that has been touched, and that the transport knows."""

    def __init__(self, store, size):
        self.area = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.area))
        self.store, self.size = store, size
        self.clear()
        check(store.register_buffer(self.address, size) == 0, "register_buffer")

    def clear(self):
        ctypes.memset(self.address, 0, self.size)

    def close(self):
        check(self.store.unregister_buffer(self.address) == 0, "unregister_buffer")


class Rounds:
    """The objects of a round, in batches."""

    def __init__(self, store, round_bytes, object_bytes, batch):
        self.store = store
        self.size = object_bytes
        self.source = Memory(store, round_bytes)
        for at in range(0, round_bytes, object_bytes):
            self.source.area[at : at + object_bytes] = random.randbytes(object_bytes)
        self.target = Memory(store, round_bytes)
        places = range(round_bytes // object_bytes)
        self.batches = [list(places[i : i + batch]) for i in range(0, len(places), batch)]
        self.numbers = itertools.count()
        self.keys = {}

    def remove(self):
        if self.keys:
            check(all(code == 0 for code in self.store.batch_remove(list(self.keys.values()), True)),
                  "batch_remove")
            self.keys = {}

    def put(self, look=True):
        self.remove()
        number = next(self.numbers)
        self.keys = {
            place: "python-%d-%d-%d" % (os.getpid(), number, place)
            for batch in self.batches
            for place in batch
        }
        calls = [
            (
                [self.keys[place] for place in batch],
                [self.source.address + place * self.size for place in batch],
                [self.size] * len(batch),
            )
            for batch in self.batches
        ]
        begin = time.perf_counter_ns()
        results, there = [], []
        for call in calls:
            results += self.store.batch_put_from(*call)
            if look:
                there += self.store.batch_is_exist(call[0])
        took = time.perf_counter_ns() - begin
        check(all(code == 0 for code in results), "batch_put_from")
        check(all(code == 1 for code in there), "batch_is_exist")
        return took

    def put_unseen(self):
        return self.put(look=False)

    def get(self):
        self.target.clear()
        took = self.get_layers() if LAYERS else self.get_whole()
        same = libc.memcmp(self.source.address, self.target.address, self.source.size) == 0
        check(same, "what was got is not what was put")
        return took

    def get_whole(self):
        calls = [
            (
                [self.keys[place] for place in batch],
                [self.target.address + place * self.size for place in batch],
                [self.size] * len(batch),
            )
            for batch in self.batches
        ]
        begin = time.perf_counter_ns()
        results = [self.store.batch_get_into(*call) for call in calls]
        took = time.perf_counter_ns() - begin
        check(all(code == self.size for result in results for code in result), "batch_get_into")
        return took

    def get_layers(self):
        keys = list(self.keys.values())
        piece = self.size // 2 // LAYERS
        calls = []
        for layer in range(LAYERS):
            offsets = [layer * piece, (LAYERS + layer) * piece]
            pointers = [
                [self.target.address + place * self.size + offset for offset in offsets]
                for place in self.keys
            ]
            calls.append((keys, pointers, [[piece, piece]] * len(keys), [offsets] * len(keys)))
        begin = time.perf_counter_ns()
        started = self.store.batch_get_session_start(keys)
        results = [self.store.batch_get_into_multi_buffer_ranges(*call) for call in calls]
        took = time.perf_counter_ns() - begin
        ended = self.store.batch_get_session_end(keys)
        check(all(code == 0 for code in started) and ended == 0, "the session")
        check(all(code == 2 * piece for result in results for code in result), "the ranges")
        return took

    def close(self):
        self.remove()
        self.source.close()
        self.target.close()


def check(done, what):
    if not done:
        raise SystemExit("Mooncake's Python client failed: " + what)


def main():
    store = MooncakeDistributedStore()
    check(store.setup("127.0.0.1", "P2PHANDSHAKE", 0, 16 << 20, "tcp", "", MASTER) == 0, "setup")
    rounds = None
    for line in sys.stdin:
        command, *numbers = line.split()
        if command == "prepare":
            if rounds:
                rounds.close()
            rounds = Rounds(store, *map(int, numbers))
            answer = 0
        else:
            answer = getattr(rounds, command.replace("-", "_"))()
        answers.write(f"{answer}\n")
    if rounds:
        rounds.close()
    answers.flush()
    store.close()


if __name__ == "__main__":
    main()
