"""Checks types and shapes at every call: beartype, for which a whole number is also a number."""

from beartype import BeartypeConf, beartype

check = beartype(conf=BeartypeConf(is_pep484_tower=True))
