"""The jobs of a sweep on disk, while some of them have not finished.

A plan is named by its jobs, so that all who work on the same sweep have the same file. It lies in
the folder `.plans` of the output folder, and says which runs are to come.
"""

import hashlib
import os
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from attnexp.runs.files import UnreadableRunError, read_bytes, write_bytes

PLANS = ".plans"


class _Content(msgspec.Struct, frozen=True):
    jobs: list[str]


@dataclass(frozen=True)
class StoredPlan:
    """The jobs of a sweep: their folders, relative to `root`."""

    root: Path
    jobs: tuple[str, ...]

    @classmethod
    def of(cls, root: Path, folders: Collection[Path]) -> "StoredPlan":
        """Return the plan of the jobs in these folders."""
        return cls(root, tuple(sorted(os.path.relpath(folder, root) for folder in folders)))

    @property
    def path(self) -> Path:
        """The file of the plan."""
        key = hashlib.sha256("\n".join(self.jobs).encode(errors="surrogateescape")).hexdigest()
        return self.root / PLANS / f"{key[:12]}.json"

    def write(self) -> None:
        """Write the plan, unless it is there. Raises OSError if it cannot be written."""
        if not os.path.exists(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            write_bytes(self.path, msgspec.json.encode(_Content(list(self.jobs))))

    def remove(self) -> None:
        """Remove the plan, whose jobs have all finished. Raises OSError if it cannot be removed."""
        self.path.unlink(missing_ok=True)
        with suppress(OSError):  # another sweep has a plan there
            self.path.parent.rmdir()


def read_plans(root: Path) -> Iterator[StoredPlan | str]:
    """Yield each plan in an output folder, or the reason why one cannot be read."""
    for path in sorted((root / PLANS).glob("*.json")):
        try:
            content = msgspec.json.decode(read_bytes(path), type=_Content)
        except FileNotFoundError:  # its sweep has just ended
            continue
        except UnreadableRunError as error:
            yield str(error)
        except (ValueError, RecursionError):
            yield f"{path} is not the plan of a sweep"
        else:
            yield StoredPlan(root, tuple(content.jobs))
