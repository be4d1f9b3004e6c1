from interlock.machine import FINAL, Go, Machine, State, Transition
from interlock.store import Store
from interlock.testing import Trial


def test_runs(store: Store) -> None:
    machine = Machine("order", initial="new", states=[State("new"), State("done", FINAL)],
                      transitions=[Transition("new", "done", on="pack")])
    with Trial([machine.with_handlers({"new": lambda task: Go("done")})], store=store) as trial:
        it = trial.create("order", {"a": 1})
        trial.run_until_idle()
        assert trial.state(it) == "done"
        assert trial.engine.verify().problems == ()
