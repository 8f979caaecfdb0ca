import sys

from attnexp.core.batch import in_units
from attnexp.data.nile import Nile


def test_a_hundred_years_of_which_a_fifth_is_held_out(generator):
    data = Nile(generator())
    years = {
        round(year)
        for split in (data.train, data.test)
        for year in in_units(split.queries, data.spec.x).flatten().tolist()
    }
    assert years == set(range(1871, 1971))
    assert (len(data.train), len(data.test)) == (80, 20)
    (volume,) = data.spec.y
    assert (volume.name, volume.low, volume.high) == ("volume", 456, 1370)


def test_without_the_package_one_sentence_says_how_to_get_it(refused, monkeypatch):
    monkeypatch.setitem(sys.modules, "statsmodels", None)
    assert refused("data=nile") == (
        "attnexp: data=nile needs the package statsmodels: pip install 'attnexp[nile]'\n"
    )
