# SPDX-License-Identifier: Apache-2.0
"""Every relative link and image of every page leads somewhere, every picture is shown, every page can be reached.

  links.py ROOT
"""

import sys
from pathlib import Path
from urllib.parse import unquote

import markdown


def main(root):
    findings, reached, shown = [], set(), set()
    pages = markdown.pages(root)
    for page in pages:
        for link in markdown.links(page):
            if "://" in link.target or link.target.startswith("mailto:"):
                continue
            path, _, anchor = unquote(link.target).partition("#")
            where = f"{page.relative_to(root)}:{link.line}: {link.target}"
            target = (page.parent / path).resolve() if path else page
            if not target.exists():
                findings.append(f"{where}: found no such file")
                continue
            reached.add(target)
            if link.is_image:
                shown.add(target)
            if anchor and target.suffix == ".md" and anchor not in markdown.anchors(target):
                findings.append(f"{where}: {target.relative_to(root)} has no such heading")
    pictures = [file for file in markdown.tracked(root, "*.png", "*.svg") if file.is_relative_to(root / "docs")]
    findings += [f"{file.relative_to(root)}: no page shows this picture" for file in pictures if file not in shown]
    index = root / "docs" / "README.md"
    listed = {(index.parent / link.target.partition("#")[0]).resolve() for link in markdown.links(index)}
    for page in pages:
        if page.is_relative_to(root / "docs") and page != index and page not in listed:
            findings.append(f"{page.relative_to(root)}: docs/README.md does not list this page")
    print("\n".join(findings) or f"{len(pages)} pages, {len(reached)} files they lead to, {len(shown)} pictures: all there")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
