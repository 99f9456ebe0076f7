import gzip
import random

import pytest

from keras_transformer.text import PairReader, read_pairs

pytestmark = pytest.mark.tensorflow_only  # nothing here depends on a backend

LINES = b"a b\r\nc\xe2\x80\xa8d\r\n\r\ne\xc2\x85f\x0cg\r\nlast"  # O15


def write(folder, name, content):
    path = folder / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return path


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_o15_lines_end_only_at_lf_and_crlf(tmp_path, suffix):
    source = write(tmp_path, f"source{suffix}", LINES)
    target = write(tmp_path, f"target{suffix}", b"1\n2\n3\n4\n5\n")
    reader = read_pairs(source, target)
    assert list(reader) == [
        ("a b", "1"),
        ("c\u2028d", "2"),
        ("e\u0085f\x0cg", "4"),
        ("last", "5"),
    ]
    assert reader.dropped == 1


def test_o15_unequal_files_name_both_counts(tmp_path):
    five = write(tmp_path, "five", LINES)
    three = write(tmp_path, "three", b"1\n2\n3\n")
    with pytest.raises(
        ValueError, match=r"5 lines in `.*five` and 3 lines in `.*three`"
    ):
        list(read_pairs(five, three))
    with pytest.raises(
        ValueError, match=r"3 lines in `.*three` and 5 lines in `.*five`"
    ):
        list(read_pairs(three, five))


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_o15_invalid_utf8_is_named_by_file_and_line(tmp_path, suffix):
    path = write(tmp_path, f"bad.tsv{suffix}", b"a\tb\r\nc\td\n\xff\xfe\tx\ne\tf\n")
    with pytest.raises(ValueError, match=r"bad\.tsv.* in line 3: byte 0xFF"):
        list(read_pairs(path))


def test_tab_separated_file_keeps_text_as_it_stands(tmp_path):
    path = write(tmp_path, "p.tsv", b'\xef\xbb\xbf "Go."\tVe. \tCC-BY\r\nx\ry\tz\r\r\n')
    assert list(read_pairs(path)) == [(' "Go."', "Ve. "), ("x\ry", "z\r")]


def test_only_the_mark_at_the_start_of_the_file_is_removed(tmp_path):
    path = write(tmp_path, "p.tsv", b"\xef\xbb\xbfa\t\xef\xbb\xbfb\n\xef\xbb\xbfc\td\n")
    assert list(read_pairs(path)) == [("a", "\ufeffb"), ("\ufeffc", "d")]


def test_columns_choose_and_swap(tmp_path):
    path = write(tmp_path, "p.tsv", b"1\ten\tes\n")
    assert list(read_pairs(path, columns=(2, 1))) == [("es", "en")]


def test_reader_counts_blank_sides_anew_in_each_iteration(tmp_path):
    path = write(tmp_path, "p.tsv", b"a\tb\n \tc\nd\t\xc2\xa0\n\n  \ne\tf\n")
    reader = read_pairs(path)
    assert isinstance(reader, PairReader)
    for _ in range(2):
        assert list(reader) == [("a", "b"), ("e", "f")]
        assert reader.dropped == 4


def test_reading_streams(tmp_path):
    path = write(tmp_path, "p.tsv", b"a\tb\n" + b"\xff\n" * 3)
    assert next(iter(read_pairs(path))) == ("a", "b")


def test_compressed_and_paired_files_stream(tmp_path):
    # A cut file is known to be one only when its end has been read.
    letters = random.Random(1).randbytes(1_500_000).hex().encode()
    lines = [letters[i : i + 100] for i in range(0, len(letters), 100)]
    for name, columns in (("p.tsv.gz", 2), ("source.gz", 1), ("target.gz", 1)):
        content = b"".join(b"\t".join([line] * columns) + b"\n" for line in lines)
        (tmp_path / name).write_bytes(gzip.compress(content)[:-1000])
    for files in (["p.tsv.gz"], ["source.gz", "target.gz"]):
        reader = read_pairs(*(tmp_path / name for name in files))
        assert next(iter(reader)) == (lines[0].decode(),) * 2
        with pytest.raises(ValueError, match="must be a whole gzip file"):
            list(reader)


@pytest.mark.parametrize("content", [b"", b"\n\r\n", b"\t\n"])
def test_nothing_but_blanks_gives_no_pairs(tmp_path, content):
    assert list(read_pairs(write(tmp_path, "p.tsv", content))) == []


def test_too_few_columns_names_line_and_number(tmp_path):
    path = write(tmp_path, "p.tsv", b"a\tb\nonly one\n")
    with pytest.raises(ValueError, match=r"at least 2 .*in line 2: 1\."):
        list(read_pairs(path))
    with pytest.raises(ValueError, match=r"at least 4 .*in line 1: 2\."):
        list(read_pairs(path, columns=(0, 3)))


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match="`path` must be an existing file"):
        read_pairs(tmp_path / "none.tsv")
    with pytest.raises(FileNotFoundError, match="`target_path` must be an existing"):
        read_pairs(write(tmp_path, "p", b""), tmp_path / "none")
    with pytest.raises(ValueError, match="Received a folder"):
        read_pairs(tmp_path)


@pytest.mark.parametrize(
    "content",
    [b"a\tb\n", gzip.compress(b"a\tb\n" * 99)[:-9]],
    ids=["no gzip", "cut gzip"],
)
def test_damaged_gzip(tmp_path, content):
    path = tmp_path / "p.tsv.gz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"p\.tsv\.gz` must be a whole gzip file"):
        list(read_pairs(path))


@pytest.mark.parametrize("columns", [(0,), (0, -1), (0, 1.0), (0, 1, 2)])
def test_columns_are_checked(tmp_path, columns):
    path = write(tmp_path, "p.tsv", b"a\tb\n")
    with pytest.raises(ValueError, match="`columns` must be two column numbers"):
        read_pairs(path, columns=columns)


def test_columns_do_not_go_with_two_files(tmp_path):
    path = write(tmp_path, "p", b"a\n")
    with pytest.raises(ValueError, match="`columns` must be left out"):
        read_pairs(path, path, columns=(1, 0))
