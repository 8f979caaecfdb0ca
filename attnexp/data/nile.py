"""The yearly flow of the Nile at Aswan, as statsmodels ships it."""

from types import MappingProxyType

import torch

from attnexp.data.tabular import Tabular, random_split


class Nile(Tabular):
    """The volume that the Nile carried past Aswan in each year from 1871 to 1970, in 10^8 m^3.

    100 rows with a break: Cobb (1978), "The problem of the Nile", Biometrika 65, places a fall of
    the level about 1899, when a dam was begun. A smooth curve must either cut the corner there or
    follow the noise. x is the year, y the volume, and a share `test` of the rows is held out: see
    `Tabular`. The package statsmodels ships the data, which are in the public domain.
    """

    packages = MappingProxyType({"statsmodels": "attnexp[nile]"})

    def __init__(self, generator: torch.Generator, test: float = 0.2) -> None:
        from statsmodels.datasets import nile

        table = nile.load_pandas().data
        rows = table[["year", "volume"]].to_numpy(dtype=float)
        super().__init__(*random_split(rows, test, generator), ["year"], "volume")
