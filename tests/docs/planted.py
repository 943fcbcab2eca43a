# SPDX-License-Identifier: Apache-2.0
"""The checks of pages find what they are for: each mistake planted here is reported, and nothing else is."""

import contextlib
import io
import sys
import tempfile
from pathlib import Path

import commands
import links
import snippets

REFERENCE = """## sweep

| argument | meaning |
|---|---|
| `-h, --help` | Print this help message and exit |
| `SPEC` | JSON spec; required |
| `-o, --out TEXT` | Folder; required |
| `--resume` | Go on |
"""

PAGE = """# Page

A [link](gone.md), an [anchor](README.md#nowhere), a [good one](#page), ![a picture](shown.png).

```sh
schedlab sweep experiments/there.json --out out/x    # right
schedlab swep experiments/there.json --out out/x
schedlab sweep experiments/there.json --resum --out out/x
schedlab sweep experiments/missing.json \\
  --out out/x
schedlab sweep --out out/x --resume
cmake --preset fast
ctest --preset dev
```

```cpp
int answer() {
  return 42;  // the text may differ
}
```

```cpp
int answer() {
  return 43;
}
```

```json
{"a": 1,}
```
"""

FILES = {
    "CMakePresets.json": '{"configurePresets": [{"name": "dev"}]}',
    "docs/README.md": "# Index\n\n[page](page.md)\n",
    "docs/page.md": PAGE,
    "docs/alone.md": "# A page without a link\n",
    "docs/shown.png": "",
    "docs/unused.png": "",
    "docs/reference/command_line.md": REFERENCE,
    "experiments/there.json": "{}",
    "code.cpp": "int answer() {\n    return 42;\n}\n",
}

EXPECTED = {
    links: ["gone.md: found no such file", "README.md#nowhere: docs/README.md has no such heading", "unused.png: no page shows",
            "alone.md: docs/README.md does not list", "command_line.md: docs/README.md does not list"],
    commands: ["there is no verb 'swep'", "sweep has no option --resum", "experiments/missing.json: found no such file",
               "sweep needs 1 arguments, found 0", "there is no configure preset 'fast'", "there is no test preset 'dev'"],
    snippets: ["has these 3 lines of C++", "no JSON"],
}


def main():
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        for name, text in FILES.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
        wrong = []
        for check, expected in EXPECTED.items():
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                status = check.main(root)
            found = printed.getvalue().splitlines()
            unseen = [what for what in expected if not any(what in line for line in found)]
            if status != 1 or unseen or len(found) != len(expected):
                wrong.append(f"{check.__name__}: exit code {status}, not reported: {unseen}, printed:\n{printed.getvalue()}")
    print("\n".join(wrong) or "every planted mistake was found")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
