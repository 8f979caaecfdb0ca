"""What the tests of exercises share: sentences in both languages."""

import re

import pytest

from attnexp.core.language import Text, in_language


@pytest.fixture
def in_english():
    """Return a sentence in English, whose Chinese has no three English words in a row."""

    def english(sentence):
        if isinstance(sentence, Text):
            chinese = re.sub("`[^`]+`|attnexp probe.*", "", sentence.zh())
            assert not re.search("[A-Za-z]+ [A-Za-z]+ [A-Za-z]+", chinese), chinese
        return in_language(sentence, "en")

    return english
