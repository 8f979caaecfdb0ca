"""The log of a job, as the settings in `hydra.job_logging` have it."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hydra.core.utils import configure_log
from omegaconf import DictConfig, OmegaConf

from attnexp.errors import RequestError
from attnexp.redaction import redacted


def check(hydra: DictConfig) -> None:
    """Raise RequestError where the log cannot be configured. No file is opened."""
    if hydra.job_logging is None:
        return
    with _refused():
        settings: Any = OmegaConf.to_container(hydra.job_logging, resolve=True)
        if not isinstance(root := settings.get("root"), dict | None):
            raise ValueError(f"root must be settings such as level and handlers, got {root!r}")
        for handler in settings.get("handlers", {}).values():
            own = handler.get("class", "").startswith(("logging.", "attnexp."))
            if "filename" in handler and own:
                handler["delay"] = True
        configure_log(OmegaConf.create(settings), hydra.verbose)


def configure(hydra: DictConfig) -> None:
    """Configure the log, which opens its file. Raises RequestError for settings that cannot be."""
    with _refused():
        configure_log(hydra.job_logging, hydra.verbose)


@contextmanager
def _refused() -> Iterator[None]:
    """Make what is wrong with the settings of a log a RequestError; errors of the system stay."""
    try:
        yield
    except (ValueError, TypeError, AttributeError, LookupError, ImportError) as error:
        why = error.__cause__ or error
        if isinstance(why, OSError):
            raise OSError(why.errno, why.strerror, why.filename) from error
        raise RequestError(f"hydra.job_logging cannot be used: {why}") from error


class RedactedRecord(logging.LogRecord):
    """A message of the log without secrets, its traceback included."""

    _traceback: str | None = None

    def getMessage(self) -> str:
        return redacted(super().getMessage())

    @property
    def exc_text(self) -> str | None:
        """The traceback, which a formatter sets."""
        return self._traceback

    @exc_text.setter
    def exc_text(self, text: str | None) -> None:
        self._traceback = redacted(text) if text else text
