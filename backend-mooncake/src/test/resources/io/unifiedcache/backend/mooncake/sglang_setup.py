"""Answers how SGLang's own MooncakeStore sets up Mooncake's client, on a machine that has neither.

Each line is a JSON object with the variables (env) and the rank (tp_rank, tp_size, pp_rank, pp_size).
It is answered with one that has the arguments of setup in order (setup), those with a name (named) and
whether the master is to be waited for (check_server), or the reason (refused).

What is SGLang's: MooncakeStore, its configuration, and the variables. All else is played by stand-ins.
"""

import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import sys
import types

STORE = "sglang.srt.mem_cache.storage.mooncake_store.mooncake_store"
REAL = {STORE, "sglang.srt.environ"}
NOT_THERE = "sglang.srt.distributed"
READ = ("MOONCAKE", "LOCAL_HOSTNAME", "SGLANG_HICACHE_MOONCAKE")


class StandIn(types.ModuleType):
    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        value = type(name, (), {})
        setattr(self, name, value)
        return value


class StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        played = name.startswith("sglang.") or name in ("torch", "requests")
        if played and name not in REAL and not name.startswith(NOT_THERE):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return StandIn(spec.name)

    def exec_module(self, module):
        pass


class Client:
    """A client of Mooncake that notes how it is set up."""

    calls = []

    def setup(self, *arguments, **named):
        Client.calls.append((arguments, named))
        return 0

    def put(self, key, value):
        self.value = value
        return 0

    def is_exist(self, key):
        return 1

    def get(self, key):
        return self.value


root = importlib.util.find_spec("sglang").submodule_search_locations[0]
for name in [STORE.rsplit(".", i)[0] for i in range(1, 5)] + ["sglang"]:
    module = types.ModuleType(name)
    module.__path__ = [os.path.join(root, *name.split(".")[1:])]
    sys.modules[name] = module
sys.meta_path.insert(0, StandIns())
sys.modules["mooncake"] = StandIn("mooncake")
sys.modules["mooncake.store"] = StandIn("mooncake.store")
sys.modules["mooncake.store"].MooncakeDistributedStore = Client

from sglang.srt.mem_cache.storage.mooncake_store.mooncake_store import MooncakeStore  # noqa: E402

waits = []
MooncakeStore.check_server = lambda self: waits.append(True)


def answer(question):
    for variable in list(os.environ):
        if variable.startswith(READ):
            del os.environ[variable]
    os.environ.update(question["env"])
    Client.calls.clear()
    waits.clear()
    try:
        MooncakeStore(
            types.SimpleNamespace(
                tp_rank=question["tp_rank"],
                tp_size=question["tp_size"],
                pp_rank=question["pp_rank"],
                pp_size=question["pp_size"],
                attn_cp_rank=0,
                attn_cp_size=1,
                dp_rank=None,
                dcp_size=1,
                is_mla_model=False,
                enable_storage_metrics=False,
                model_name="model",
                extra_config=None,
                should_split_heads=False,
            )
        )
    except Exception as e:
        return {"refused": "%s: %s" % (type(e).__name__, e)}
    ((arguments, named),) = Client.calls
    return {"setup": arguments[:7], "named": named, "check_server": bool(waits)}


for line in sys.stdin:
    print(json.dumps(answer(json.loads(line))), flush=True)
