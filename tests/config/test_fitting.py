"""What is said without PyTorch of choices that do not fit is what their classes say."""

import pytest
from hydra.types import RunMode

from attnexp.config.build import spec_type
from attnexp.config.compose import CommandLine
from attnexp.config.fitting import require_fitting
from attnexp.config.groups import choices
from attnexp.config.schema import import_target
from attnexp.core.errors import RequestError


def taken_by(data):
    """The type of spec that the architecture by default of a data set takes."""
    line = CommandLine.read([f"data={data}", "--cfg", "job"])
    config = line.app.compose_config("config", line.overrides, RunMode.RUN)
    return spec_type(import_target(config.arch, "arch"))


@pytest.mark.parametrize("data", [each.name for each in choices("data")])
def test_an_architecture_is_refused_where_its_class_takes_other_data(data):
    own = taken_by(data)
    for arch in choices("arch"):
        line = CommandLine.read([f"arch={arch.name}", "--cfg", "job"])
        target = line.app.compose_config("config", line.overrides, RunMode.RUN).arch
        chosen = {"data": data, "arch": arch.name}
        if spec_type(import_target(target, "arch")) is own:
            require_fitting(chosen)
        else:
            with pytest.raises(RequestError, match=f"is not for data={data}: choose arch="):
                require_fitting(chosen)


def test_choices_of_ones_own_are_left_to_their_classes():
    require_fitting({"data": "mine", "arch": "transformer"})
    require_fitting({"data": "sine", "arch": "mine"})
