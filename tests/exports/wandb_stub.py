"""Stands for the wandb module in a test: notes what it is told, and refuses what its documentation forbids."""
import json
import os

_log = open(os.environ["WANDB_STUB_LOG"], "a")
_open = None


class Run:
    def __init__(self, **settings):
        assert len(settings["id"]) <= 64 and settings["id"].isalnum(), settings["id"]
        assert settings["resume"] in ("allow", "must", "never", "auto")
        assert settings["mode"] in ("online", "offline")
        assert isinstance(settings["config"], dict)
        self.metrics, self.logged, self.settings = {}, 0, settings
        self.summary = {}
        _log.write(json.dumps({"init": {k: v for k, v in settings.items() if k != "config"}}) + "\n")

    def define_metric(self, name, step_metric=None, **rest):
        assert not self.logged, "metrics are defined before the first log"
        assert not rest
        if step_metric is not None:
            assert step_metric in self.metrics, f"{step_metric} is defined before what hangs on it"
        assert name.count("*") == 0 or name.endswith("*"), "a glob ends in *"
        self.metrics[name] = step_metric

    def axis(self, name):
        if name in self.metrics:
            return self.metrics[name]
        globs = [g for g in self.metrics if g.endswith("*") and name.startswith(g[:-1])]
        return self.metrics[max(globs, key=len)] if globs else None

    def log(self, row):
        self.logged += 1
        assert row and all(isinstance(k, str) and isinstance(v, (int, float)) for k, v in row.items()), row
        for name in row:
            axis = self.axis(name)
            assert axis is None or axis in row, f"{name} has no {axis}"
        _log.write(json.dumps({"row": row}) + "\n")

    def finish(self, exit_code=0):
        global _open
        _open = None
        _log.write(json.dumps({"finish": exit_code, "rows": self.logged, "summary": dict(self.summary)}) + "\n")
        _log.flush()


def init(**settings):
    global _open
    assert _open is None, "the run before was not finished"
    _open = Run(**settings)
    return _open
