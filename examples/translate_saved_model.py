"""Translate with an exported model, without keras_transformer and without Keras.

python examples/translate_saved_model.py models/es/1 "Where is the station?"
"""

import argparse
from pathlib import Path

import tensorflow as tf
import tensorflow_text  # noqa: F401 - brings the operations of the tokenizer


def main():
    """Load the model, translate the arguments, one line each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", help="folder of a version, such as models/es/1")
    parser.add_argument("sentences", nargs="+", metavar="sentence")
    options = parser.parse_args()
    if not (Path(options.model) / "saved_model.pb").is_file():
        parser.error(f"{options.model} holds no SavedModel: give a version's folder")
    served = tf.saved_model.load(options.model).signatures["serving_default"]
    for translation in served(text=tf.constant(options.sentences))["translation"]:
        print(translation.numpy().decode())


if __name__ == "__main__":
    main()
