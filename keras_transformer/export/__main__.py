"""Check an exported model: `python -m keras_transformer.export models/es`."""

import argparse
import sys

from keras_transformer.export.export_check import check


def main():
    """Print the report; the exit code is 1 if a server would refuse the model."""
    parser = argparse.ArgumentParser(
        prog="python -m keras_transformer.export",
        description="Check an exported model as a server would read it.",
    )
    parser.add_argument("path", help="a version, models/es/1, or models/es")
    options = parser.parse_args()
    try:
        report = check(options.path)
    except (OSError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write(f"{report}\n")
    return 0 if report.ok else 1


if __name__ == "__main__":
    sys.exit(main())
