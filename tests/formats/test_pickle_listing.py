"""Pickles are listed opcode by opcode; nothing in them ever runs."""

import collections
import os
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modeldyno.formats.containers.pickle_listing import ListedTensor, list_pickle
from tests.torch_archives import payload, tensor_pickle


@pytest.mark.parametrize("protocol", range(6))
def test_imports_are_listed_for_every_protocol(protocol, tmp_path):
    marker = tmp_path / "marker"
    listing = list_pickle(payload(marker, protocol))
    assert list(listing.imports) in (["posix.mkdir"], ["nt.mkdir"])
    assert listing.trouble == ""
    assert not marker.exists()
    pickle.loads(payload(marker, protocol))  # the control: it would have run
    assert marker.exists()


def test_names_are_found_through_the_memo():
    data = pickle.dumps([collections.Counter, collections.OrderedDict, os.getcwd], 4)
    assert list(list_pickle(data).imports) == [
        "collections.Counter",
        "collections.OrderedDict",
        "posix.getcwd",
    ]


def test_instances_of_the_oldest_protocol_count_too():
    assert list(list_pickle(b"(ios\nsystem\n.").imports) == ["os.system"]
    assert list(list_pickle(b"(cos\nsystem\no.").imports) == ["os.system"]


def test_a_name_made_while_unpickling_is_not_passed_over():
    """The module's name comes out of a call, so that no list of strings contains it."""
    data = b"\x80\x04cbuiltins\nstr\n)R\x8c\x06system\x93."
    assert "a name computed while unpickling" in list_pickle(data).imports


def test_a_name_cannot_paint_the_terminal():
    (name,) = list_pickle(b"cos\x1b[2J\nsys\ttem\n.").imports
    assert name.isprintable()


def test_pickles_in_a_row_are_all_walked():
    data = pickle.dumps(1, 2) + pickle.dumps(os.getcwd, 2) + b"numbers follow"
    assert list(list_pickle(data).imports) == ["posix.getcwd"]


def test_a_damaged_pickle_is_listed_up_to_the_damage():
    listing = list_pickle(b"\x80\x02cos\nsystem\n\xff\xff")
    assert list(listing.imports) == ["os.system"]
    assert listing.trouble


def test_tensors_are_counted_from_their_description():
    data = tensor_pickle(("w", "FloatStorage", (2, 3)), ("steps", "LongStorage", ()))
    assert list_pickle(data).tensors == [
        ListedTensor("float32", (2, 3), "0", 0),
        ListedTensor("int64", (), "1", 0),
    ]


@given(st.binary(max_size=300))
def test_any_bytes_are_walked_without_harm(data):
    list_pickle(data)
    list_pickle(b"\x80\x04" + data)
