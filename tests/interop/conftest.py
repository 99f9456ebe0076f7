import pytest

from tests.backends import searches_without_xla


@pytest.fixture(autouse=True, scope="module")
def plain_searches():
    with searches_without_xla():
        yield
