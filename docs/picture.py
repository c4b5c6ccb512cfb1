"""Makes docs/figures/report.png, the README's picture of a report: ``make picture``. Needs Chromium.

Public: the table of the demo is made up.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from understudy import example, synthesize

PICTURE = Path(__file__).parent / "figures" / "report.png"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SIZE = (1100, 945)
LEFT_OUT = "#promise { display: none }"
"""The section that is mostly text: the picture shows the head of the page, then its charts."""
MOST_BYTES = 150_000


def main() -> int:
    """Make a release, and let a browser draw the top of its report."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        sys.stderr.write(f"None of {', '.join(BROWSERS)} is installed.\n")
        return 2
    with tempfile.TemporaryDirectory() as folder:
        release = Path(folder) / "release"
        synthesize(example.people(), example.schema(), epsilon=1, delta=1e-9, out=release)
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--window-size={SIZE[0]},{SIZE[1]}"]
        page = release / "report.html"
        page.write_text(
            page.read_text(encoding="utf-8").replace("</head>", f"<style>{LEFT_OUT}</style></head>"), encoding="utf-8"
        )
        taking = [browser, *options, f"--screenshot={PICTURE}", page.as_uri()]
        subprocess.run(taking, check=True, capture_output=True, timeout=120)
    taken = PICTURE.stat().st_size
    sys.stdout.write(f"{PICTURE.name}: {taken:,} bytes\n")
    return 0 if taken <= MOST_BYTES else 1


if __name__ == "__main__":
    sys.exit(main())
