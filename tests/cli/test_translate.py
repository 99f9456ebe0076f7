"""`translate`: lines in, lines out."""

import gzip
import json

import pytest

from keras_transformer import BeamSearch, GreedySearch, Sampling, Translator
from keras_transformer.cli.error_report import LinesFailedError
from keras_transformer.cli.line_translation import LineTranslation, one_line
from keras_transformer.cli.saved_translator import search_with
from tests.translators import sentences

pytestmark = pytest.mark.tensorflow_only

TOO_LONG = "dog " * 40
LINES = [*sentences(5), "", "  ", "a\u2028dog\u0085and\x0ca cat"]


class Upper:
    """A translator of known answers, which notes what it has been asked."""

    max_source_length = 9

    def __init__(self):
        self.asked = []
        self.tokenizer = self

    def tokenize(self, texts):
        return [text.split() for text in texts]

    def __call__(self, text):
        self.asked.append(text)
        return text.upper()

    def translate(self, texts):
        return (self(text) for text in texts)


def lines_of(translator, lines):
    """Translations as lines: an untrained model generates ends of lines too."""
    return [one_line(text) for text in translator(lines)]


def test_each_line_has_its_translation_in_order(call, model_file):
    expected = lines_of(Translator.load(model_file), LINES)
    given = "\r\n".join(LINES).encode()  # the last line has no end
    code, output, errors = call("translate", model_file, given=given)
    assert (code, errors) == (0, "")
    assert output.split("\n") == [*expected, ""]
    assert expected[5:7] == ["", ""]
    assert expected[0]


def test_files_in_and_out(call, model_file, tmp_path):
    text = "".join(f"{line}\n" for line in LINES).encode()
    plain, packed = tmp_path / "in.txt", tmp_path / "in.txt.gz"
    plain.write_bytes(text)
    packed.write_bytes(gzip.compress(text))
    _, expected, _ = call("translate", model_file, given=text)
    result = tmp_path / "out.txt"
    assert call("translate", model_file, packed, "-o", result) == (0, "", "")
    assert result.read_bytes().decode() == expected
    assert call("translate", model_file, plain) == (0, expected, "")
    assert call("translate", model_file, "-", given=text) == (0, expected, "")
    assert call("translate", model_file, "-", given=b"") == (0, "", "")


def test_a_line_that_is_too_long_keeps_its_place_and_is_reported(call, model_file):
    lines = [sentences(1)[0], TOO_LONG, "", TOO_LONG, sentences(2)[1]]
    given = "\n".join(lines).encode()
    code, output, errors = call("translate", model_file, given=given)
    kept = [lines[0], "", "", "", lines[4]]
    expected = lines_of(Translator.load(model_file), kept)
    assert (code, output.split("\n")) == (1, [*expected, ""])
    assert errors == (
        "Error: 2 lines have more than 31 tokens and a blank translation: 2, 4.\n"
    )


def test_line_numbers_of_many_long_lines_are_counted():
    work = LineTranslation(Upper())
    lines = ["x " * (9 if number > 1500 else 8) for number in range(1, 3001)]
    texts = list(work.texts(lines))
    assert [bool(text) for text in texts] == [n <= 1500 for n in range(1, 3001)]
    with pytest.raises(
        LinesFailedError,
        match=r"1500 lines .* 8 tokens .* 1501, .*, 1505 and 1495 more",
    ):
        work.check()


def test_other_bytes_than_utf_8_are_an_error_with_their_line(call, model_file):
    code, output, errors = call("translate", model_file, given=b"a dog\nMu\xf1oz\n")
    assert (code, output) == (2, "")
    assert errors.startswith(
        "Error: `standard input` must be UTF-8. Received in line 2"
    )
    assert errors.count("\n") == 1


def test_each_line_is_answered_before_the_next_one_is_read():
    translator, read = Upper(), []

    def typed():
        for line in ("one", "two\x0c", "x " * 9, ""):
            read.append(line)
            yield line

    answers = LineTranslation(translator).one_by_one(typed())
    assert (next(answers), len(read)) == ("ONE", 1)
    assert (next(answers), len(read)) == ("TWO\x0c", 2)
    assert list(answers) == ["", ""]


def test_the_best_few_are_given_before_the_next_line_is_read():
    class Best(Upper):
        def n_best(self, texts, n):
            return [[text] * n for text in texts]

    read = []
    lines = (read.append(line) or line for line in ("one", "two"))
    answers = LineTranslation(Best()).hypotheses(lines, 2, at_once=True)
    assert (next(answers), read) == ((1, ["one", "one"]), ["one"])
    assert (next(answers), read) == ((2, ["two", "two"]), ["one", "two"])


def test_unbuffered_gives_the_same(call, model_file):
    given = "\n".join(LINES).encode()
    expected = call("translate", model_file, given=given)
    assert call("translate", model_file, "--unbuffered", given=given) == expected
    best = ("translate", model_file, "--n-best=2", "--json")
    answers = [call(*best, *option, given=given) for option in ([], ["--unbuffered"])]
    rows = [[json.loads(row) for row in out.splitlines()] for _, out, _ in answers]
    for one, other in zip(*rows, strict=True):
        assert one.pop("score") == pytest.approx(other.pop("score"), abs=1e-4)
        assert one == other


def test_a_translation_is_one_line():
    assert one_line("a\nb\r\nc\u2028d") == "a b  c\u2028d"


def test_the_best_few_with_tabs_and_as_json(call, model_file):
    lines = [sentences(1)[0], "", sentences(2)[1]]
    given = "\n".join(lines).encode()
    expected = Translator.load(model_file).n_best(lines, 2)
    code, output, _ = call("translate", model_file, "--n-best", 2, given=given)
    rows = [row.split("\t", 2) for row in output.split("\n")[:-1]]
    assert code == 0
    assert [row[0] for row in rows] == ["1", "1", "2", "3", "3"]
    assert [row[2] for row in rows] == [
        one_line(h.text) for found in expected for h in found
    ]
    assert float(rows[0][1]) == pytest.approx(expected[0][0].score, abs=1e-4)
    _, output, _ = call("translate", model_file, "--n-best=2", "--json", given=given)
    objects = [json.loads(row) for row in output.split("\n")[:-1]]
    assert [(o["line"], one_line(o["translation"])) for o in objects] == [
        (int(row[0]), row[2]) for row in rows
    ]
    assert [o["finished"] for o in objects] == [
        h.finished for found in expected for h in found
    ]
    assert objects[1]["score"] == pytest.approx(expected[0][1].score)


def test_options_of_the_search(call, model_file):
    translator = Translator.load(model_file)
    given = "\n".join(sentences(3)).encode()
    greedy = Translator(
        translator.model, translator.tokenizer, search=GreedySearch(), max_length=5
    )
    options = ("--beam=1", "--max-length=5", "--batch-size=2", "--length-penalty=0")
    _, output, _ = call("translate", model_file, *options, given=given)
    assert output.split("\n")[:-1] == lines_of(greedy, sentences(3))
    assert output.split("\n")[:-1] != lines_of(translator, sentences(3))


def test_options_replace_single_settings_of_a_search():
    own = BeamSearch(num_beams=3, length_penalty=0.5, no_repeat_ngram=2)
    kept = search_with(own, None, 0.7)
    assert kept.get_config() == {**own.get_config(), "length_penalty": 0.7}
    assert search_with(own, 2, None).get_config()["num_beams"] == 2
    sampling = Sampling(temperature=0.5, seed=1)
    assert search_with(sampling, None, None) is sampling
    assert search_with(sampling, 2, None).get_config()["num_beams"] == 2
    strict = {
        "min_length": 2,
        "min_ratio": 0.5,
        "max_ratio": 1.5,
        "no_repeat_ngram": 3,
        "banned_tokens": [7],
    }
    for search in (GreedySearch(**strict), Sampling(**strict, length_penalty=0.1)):
        expected = BeamSearch(num_beams=4, **strict)
        assert search_with(search, 4, None) == expected
        expected = BeamSearch(num_beams=4, length_penalty=0.3, **strict)
        assert search_with(search, 4, 0.3) == expected
    with pytest.raises(ValueError, match=r"give --beam too\. Received: .* Sampling"):
        search_with(sampling, None, 0.5)


def test_a_wrong_input_leaves_an_older_output(call, model_file, tmp_path):
    file, output = tmp_path / "in.txt", tmp_path / "out.txt"
    file.write_bytes(b"a dog\n\xff\n")
    output.write_text("older\n")
    code, _, errors = call("translate", model_file, file, "-o", output)
    assert code == 2
    assert "line 2" in errors
    assert output.read_text() == "older\n"


def test_a_full_disk_is_named(call, model_file):
    code, _, errors = call("translate", model_file, "-o", "/dev/full", given=b"a dog\n")
    assert (code, errors) == (1, "Error: /dev/full: No space left on device\n")


def test_a_closed_input_is_named(call, model_file):
    code, _, errors = call("translate", model_file, given=None)
    assert code == 2
    assert errors == "Error: Standard input must be open. Received: a closed one.\n"


def test_a_file_is_not_translated_into_itself(call, model_file, tmp_path):
    file = tmp_path / "in.txt"
    file.write_text("a dog\n")
    code, _, errors = call("translate", model_file, file, "-o", file)
    assert code == 2
    assert "--output must be another file" in errors
    assert file.read_text() == "a dog\n"


def test_wrong_use(call, model_file, tmp_path):
    (tmp_path / "other.translator").write_text("no archive")
    for arguments, words in (
        (["translate", "nowhere"], "'nowhere' does not exist"),
        (["translate", tmp_path / "other.translator"], "MODEL must be a file that"),
        (["translate", tmp_path], "is a directory"),
        (["translate", model_file, "--beam", "0"], "--beam"),
        (["translate", model_file, "--length-penalty", "99"], "`length_penalty` must"),
        (["translate", model_file, "--n-best=3", "--beam=2"], "`n_best` must be"),
        (["translate", model_file, "--n-best=5"], "`n_best` must be"),
        (["translate", model_file, "nowhere"], "FILE must be an existing file"),
        (["translate", model_file, "--lines"], "--lines"),
        (["translate"], "MODEL"),
        (["translates"], "No such command"),
    ):
        code, output, errors = call(*arguments)
        assert (code, output) == (2, ""), arguments
        assert words in errors
        assert errors.startswith("Error: ")
        assert errors.count("\n") == 1
