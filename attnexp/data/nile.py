"""The yearly flow of the Nile at Aswan, as statsmodels ships it."""

import torch

from attnexp.core.errors import RequestError
from attnexp.data.tabular import Tabular, random_split


class Nile(Tabular):
    """The volume that the Nile carried past Aswan in each year from 1871 to 1970, in 10^8 m^3.

    100 rows with a break: Cobb (1978), "The problem of the Nile", Biometrika 65, places a fall of
    the level about 1899, when a dam was begun. A smooth curve must either cut the corner there or
    follow the noise. x is the year, y the volume, and a share `test` of the rows is held out: see
    `Tabular`. The package statsmodels ships the data, which are in the public domain.

    Raises RequestError if the package is not installed.
    """

    def __init__(self, generator: torch.Generator, test: float = 0.2) -> None:
        try:
            from statsmodels.datasets import nile
        except ImportError as error:
            raise RequestError(
                "data=nile needs the package statsmodels: pip install 'attnexp[nile]'"
            ) from error
        table = nile.load_pandas().data
        rows = table[["year", "volume"]].to_numpy(dtype=float)
        super().__init__(*random_split(rows, test, generator), ["year"], "volume")
