"""The command line without its script: `python -m keras_transformer.cli`."""

import sys

from keras_transformer.cli.entry_point import main

if __name__ == "__main__":
    sys.exit(main())
