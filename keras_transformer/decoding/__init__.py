"""Searches over a step function: greedy, beam, sampling. They know no model."""

from keras_transformer.decoding.batch_generator import BatchGenerator
from keras_transformer.decoding.beam_search import BeamSearch
from keras_transformer.decoding.continuation_generator import ContinuationGenerator
from keras_transformer.decoding.greedy_search import GreedySearch
from keras_transformer.decoding.sampling import Sampling
from keras_transformer.decoding.search import Search
from keras_transformer.decoding.search_result import SearchResult
from keras_transformer.decoding.sequence_generator import SequenceGenerator
from keras_transformer.decoding.sequence_scorer import SequenceScorer
from keras_transformer.decoding.split_state import SplitState

__all__ = [
    "BatchGenerator",
    "BeamSearch",
    "ContinuationGenerator",
    "GreedySearch",
    "Sampling",
    "Search",
    "SearchResult",
    "SequenceGenerator",
    "SequenceScorer",
    "SplitState",
]
