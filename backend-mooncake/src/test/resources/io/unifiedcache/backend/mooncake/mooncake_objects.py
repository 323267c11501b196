"""Mooncake's own Python client, told line by line what to do.

    mooncake_objects.py MASTER

put KEY SIZE [GROUP]   stores random bytes; answers their SHA-256
get KEY SIZE           answers the SHA-256 of what it reads
exists KEY             answers 1 or 0, and leases the object and its group
remove KEY             answers 0, or Mooncake's number; leaves a leased object
Numbers are answered as they are where they are no success. Ends with its input.
"""

import ctypes
import hashlib
import os
import sys

from mooncake.store import MooncakeDistributedStore, ReplicateConfig

LARGEST = 16 << 20

store = MooncakeDistributedStore()
answer = store.setup("127.0.0.1", "P2PHANDSHAKE", 0, 16 << 20, "tcp", "", sys.argv[1])
if answer != 0:
    sys.exit("setup: %d" % answer)
memory = ctypes.create_string_buffer(LARGEST)
address = ctypes.addressof(memory)
if store.register_buffer(address, LARGEST) != 0:
    sys.exit("register_buffer")


def hash_of(size):
    return hashlib.sha256(ctypes.string_at(address, size)).hexdigest()


def put(key, size, group):
    config = ReplicateConfig()
    if group:
        config.group_ids = [group]
    ctypes.memmove(address, os.urandom(size), size)
    answer = store.batch_put_from([key], [address], [size], config)[0]
    return hash_of(size) if answer == 0 else answer


def get(key, size):
    ctypes.memset(address, 0, size)
    answer = store.batch_get_into([key], [address], [size])[0]
    return hash_of(size) if answer == size else answer


for line in sys.stdin:
    words = line.split()
    if words[0] == "put":
        said = put(words[1], int(words[2]), "".join(words[3:]))
    elif words[0] == "get":
        said = get(words[1], int(words[2]))
    elif words[0] == "exists":
        said = store.batch_is_exist([words[1]])[0]
    else:
        said = store.remove(words[1], False)
    print(said, flush=True)
store.close()
