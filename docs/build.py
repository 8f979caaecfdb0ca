"""Builds the site of the documents, as `make docs` does: `python docs/build.py FOLDER`.

The pages are Markdown that a forge shows as it is. Here they are laid out for Zensical, with
reference pages from the docstrings, and formulas become MathML: the site needs no network.
"""

import ast
import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import yaml
from latex2mathml.converter import convert

from attnexp.cards.card_file import read_card
from attnexp.cards.page import card_content
from attnexp.report.render import page as report_page

ROOT = Path(__file__).resolve().parent.parent
CONFIG = ROOT / "docs" / "zensical.toml"

OUTSIDE = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "README.zh.md": "zh/index.md",
}
"""Pages that do not lie in docs/, and what they are called in the site."""

LANGUAGES = {"en": "", "zh-CN": "zh/"}
"""The folder of the site that has the pages of a language."""

CONTRACTS = {
    "model": "attnexp.scores.Score",
    "normalizer": "attnexp.normalizers.Normalizer",
    "data": "attnexp.data.Dataset",
    "arch": "attnexp.architectures.Architecture",
}
"""The groups of choices that have a reference page, and the class that each choice subclasses."""


def place(path: str) -> str | None:
    """Return where a file of the project lies in the site, or None if it is not a part of it.

    In the place of the measurements of a card lies the page of it.
    """
    inside = re.sub(r"^(cards/.*)\.json$", r"\1.html", path.removeprefix("docs/"))
    return OUTSIDE.get(path) or (inside if inside != path else None)


def moved(link: str, page: str) -> str | None:
    """Return where a link on a page leads in the site, or None if that is not a part of it."""
    path, mark, anchor = link.partition("#")
    if not path or re.match(r"[a-z]+:", path):
        return link
    target = os.path.normpath(Path(page).parent / path)
    if not (ROOT / target).exists():
        raise SystemExit(f"{page} links to {link}, which is not there.")
    if (there := place(target)) is None:
        return None
    return os.path.relpath(there, Path(place(page) or "").parent) + mark + anchor


def laid_out(page: str) -> str:
    """Return the Markdown of a page, links moved or reduced to their text, blocks of code alone."""

    def linked(found: re.Match) -> str:
        there = moved(found[2], page)
        return found[1] if there is None else f"[{found[1]}]({there}{found[3]})"

    parts = re.split(r"(^```.*?^```$)", (ROOT / page).read_text(), flags=re.DOTALL | re.MULTILINE)
    link = r"\[([^\[\]]*)\]\(([^)\s]+)([^)]*)\)"  # text, target, title
    wide = "[\u3001-\u9fff\uff00-\uffef]"  # browsers show a line break in Chinese as a space
    joined = (re.sub(rf"(?<={wide})\n *(?={wide}|[`\[$])", "", text) for text in parts[::2])
    parts[::2] = [re.sub(link, linked, text) for text in joined]
    return "".join(parts)


def reference() -> Iterator[tuple[str, str]]:
    """Yield the reference pages: the interface, then the classes that the choices name."""
    tree = ast.parse((ROOT / "attnexp" / "__init__.py").read_text())
    (names,) = (
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    )
    modules = {path.stem for path in (ROOT / "attnexp").glob("*/")}
    shown = [name for name in names if not name.startswith("_") and name not in modules]
    level = "    options:\n      heading_level: 2\n\n"
    yield "attnexp", "# attnexp\n\n" + "".join(f"::: attnexp.{name}\n{level}" for name in shown)
    for group, contract in CONTRACTS.items():
        yield group, f"# {group}=\n\n## The contract\n\n::: {contract}\n" + choices(group)


def choices(group: str) -> str:
    """Return the classes of a group's choices, each class once."""
    text, first = "", {}
    for path in sorted((ROOT / "conf" / group).glob("*.yaml")):
        target = yaml.safe_load(path.read_text())["_target_"]
        shown = f"::: {target}\n    options:\n      members: false\n"
        if target in first:
            shown = f"The class of [{first[target]}](#{first[target]}), with other arguments.\n"
        first.setdefault(target, path.stem)
        text += f"\n## {path.stem}\n\n{shown}"
    return text


def stage(folder: Path) -> None:
    """Write all pages, pictures and the configuration into a folder."""
    pages = folder / "pages"
    shutil.copytree(ROOT / "docs" / "images", pages / "images")
    shutil.copytree(ROOT / "docs" / "theme", folder / "theme")
    for name in ("site.css", "site.js"):
        shutil.copy(ROOT / "docs" / name, pages)
    (pages / "cards").mkdir()
    for path in (ROOT / "docs" / "cards").glob("*.json"):
        target = pages / "cards" / f"{path.stem}.html"
        target.write_text(report_page(card_content(read_card(path))))
    for path in [*map(ROOT.joinpath, OUTSIDE), *(ROOT / "docs").rglob("*.md")]:
        page = path.relative_to(ROOT).as_posix()
        target = pages / (place(page) or "")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(laid_out(page))
    (pages / "reference").mkdir()
    for name, text in reference():
        (pages / "reference" / f"{name}.md").write_text(text)
    shutil.copy(CONFIG, folder)


def mathml(found: re.Match) -> str:
    """Return a formula as MathML in an element of its own, which scrolls if it is too wide."""
    shown = convert(html.unescape(found[2]), display="block" if found[1] == "div" else "inline")
    return f'<{found[1]} class="formula">{shown}</{found[1]}>'


def with_mathml(page: str) -> str:
    """Return the HTML of a page with MathML in place of TeX, which browsers show by themselves."""
    formula = r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>'
    return re.sub(formula, mathml, page, flags=re.DOTALL)


def with_empty_corners(page: str) -> str:
    """Return the HTML of a page with cells in place of empty headings, which name no column."""
    return re.sub(r"<th( [^>]*)?></th>", r"<td\1></td>", page)


def with_languages(page: str, name: str, names: set[str]) -> str:
    """Return the HTML of a page with its language, and a switch to its translations.

    A page without a translation leads to the front page of the other language.
    """
    for language, folder in LANGUAGES.items():
        twin = folder + name.removeprefix("zh/")
        there = os.path.relpath(twin if twin in names else f"{folder}index.html", Path(name).parent)
        mark = f'hreflang="{language}"'
        page = re.sub(rf'href="[^"]*" {mark}', f'href="{there}" {mark}', page)
    return page.replace('<html lang="zh"', '<html lang="zh-CN"', 1)


def segment_chinese(index: Path) -> None:
    """Make the search split Chinese text into words, which it does for Chinese sites alone."""
    found = json.loads(index.read_text())
    found["config"]["lang"].append("zh")
    index.write_text(json.dumps(found, ensure_ascii=False, separators=(",", ":")))


def main(target: Path) -> None:
    """Build the site and put it into the target in place of what was there; a warning fails."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        stage(folder)
        built = subprocess.run(
            [sys.executable, "-m", "zensical", "build", "--strict"],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            check=False,
        )
        if built.returncode:
            raise SystemExit("The site was not built.")
        site = folder / "site"
        pages = {path.relative_to(site).as_posix(): path for path in site.rglob("*.html")}
        for name, path in pages.items():
            text = with_empty_corners(with_mathml(path.read_text()))
            path.write_text(with_languages(text, name, set(pages)))
        segment_chinese(site / "search.json")
        if target.exists():
            shutil.rmtree(target)
        shutil.move(site, target)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
