import _json
import importlib.util
from types import ModuleType

from swage_model_host.program import GhostLoader


class Switch:
    """What the call page says."""

    on = False

    def __call__(self) -> bool:
        return self.on


def loaded(switch: Switch) -> ModuleType:
    """An extension module of the standard library, loaded once more as a candidate's would be."""
    path = str(_json.__file__)
    loader = GhostLoader("_json", path, switch)
    spec = importlib.util.spec_from_file_location("_json", path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def test_functions_do_nothing_while_the_switch_is_on() -> None:
    switch = Switch()
    module = loaded(switch)
    assert module.encode_basestring("a") == '"a"'
    switch.on = True
    assert module.encode_basestring("a") is None
    switch.on = False
    assert module.encode_basestring("a") == '"a"'


def test_what_is_no_function_stays_as_it_is() -> None:
    module = loaded(Switch())
    assert isinstance(module.make_scanner, type)
    assert module.__doc__ == _json.__doc__
