"""Writes the lists of docs/choices.md from the choices: `python docs/choices.py`.

A list follows the comment that names its group: `<!-- conf/model -->`. An item has the first line
of the file. A choice and the one that learns its width are one item.
"""

import re
from pathlib import Path

from attnexp.config.groups import choices

PAGE = Path(__file__).resolve().parent / "choices.md"
LIST = re.compile(r"<!-- conf/(\w+) -->\n\n(?:`\w+=`:\n\n)?(?:-.*\n)*")
LEARNED = "_learned"


def written(page: str) -> str:
    """Return a page with its lists written anew."""
    return LIST.sub(lambda found: f"<!-- conf/{found[1]} -->\n\n{items(found[1])}", page)


def items(group: str) -> str:
    """Return the list of a group."""
    lines = {choice.name: choice.line for choice in choices(group)}
    found = [f"`{group}=`:\n\n"]
    for name, line in lines.items():
        if name.endswith(LEARNED) and name.removesuffix(LEARNED) in lines:
            continue
        names, text = f"`{name}`", line
        if name + LEARNED in lines:
            names += f", `{name}{LEARNED}`"
            text = line.replace(", with a fixed width w", "")
        found.append(f"- {names}: {text}\n")
    return "".join(found)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
