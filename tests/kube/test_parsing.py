"""Answers are read the same however they are cut into pieces, and whatever a peer sends comes to an end."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from koordpy.kube.http.parsing import MOST_FIELDS, MOST_OVERHEAD, AnswerParser, NotHttp

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
WHOLE = OK + b"Content-Length: 5\r\n\r\nhello"


def feed(parser: AnswerParser, *pieces: bytes) -> tuple[int, bytes]:
    for piece in pieces:
        parser.feed(piece)
    assert parser.has_ended
    assert parser.head is not None
    return parser.head.status, b"".join(parser.parts)


def read(*pieces: bytes) -> tuple[int, bytes]:
    return feed(AnswerParser(), *pieces)


@pytest.mark.parametrize(
    "value", [b"-6", b"+5", b"1_0", b"0x5", b"5, 5", b"", b"9" * 30, b"\xd9\xa5", b"5\r\nContent-Length: 5"]
)
def test_a_content_length_is_one_number_of_plain_digits(value: bytes) -> None:
    with pytest.raises(NotHttp):
        read(OK + b"Content-Length: " + value + b"\r\n\r\nhello")


@pytest.mark.parametrize("size", [b"-6", b"+5", b"0_5", b" 5", b"5 ", b"0x5", b"", b"f" * 17, b"\xd9\xa5", b"5\n"])
def test_a_chunk_size_is_one_number_of_plain_hexadecimal_digits(size: bytes) -> None:
    with pytest.raises(NotHttp):
        read(CHUNKED + size + b"\r\nhello\r\n0\r\n\r\n")


@pytest.mark.parametrize(
    "fields", [b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", b"content-LENGTH: 4\r\n" * 2]
)
def test_a_body_has_one_length(fields: bytes) -> None:
    with pytest.raises(NotHttp):
        read(OK + fields + b"\r\n5\r\nhello\r\n0\r\n\r\n")


def test_a_chunk_ends_where_its_size_says() -> None:
    with pytest.raises(NotHttp):
        read(CHUNKED + b"4\r\nhello\r\n0\r\n\r\n")


@pytest.mark.parametrize("status", [b"000", b"099", b"20", b"2000", b"-20"])
def test_a_status_has_three_digits_and_a_meaning(status: bytes) -> None:
    with pytest.raises(NotHttp):
        read(b"HTTP/1.1 " + status + b" OK\r\nContent-Length: 5\r\n\r\nhello")


def test_an_upgrade_to_another_protocol_is_an_error() -> None:
    with pytest.raises(NotHttp):
        read(b"HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")


# --- limits ---


def fed_until_given_up(parser: AnswerParser, start: bytes, more: bytes) -> tuple[int, str]:
    """How many bytes it took, and why it was given up."""
    fed = len(start)
    parser.feed(start)
    while fed < 20 * MOST_OVERHEAD:
        fed += len(more)
        try:
            parser.feed(more)
        except NotHttp as error:
            return fed, str(error)
    return fed, "never"


@pytest.mark.parametrize(
    ("start", "more"),
    [
        (OK, b"A: " + b"x" * 1000 + b"\r\n"),
        (OK + b"A: ", b"x" * 1000),
        (b"HTTP/1.1 200 ", b"x" * 1000),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 50),
        (b"", b"\r\n" * 500),
        (CHUNKED, b"0" * 1000),
        (CHUNKED + b"5;", b"x" * 1000),
        (CHUNKED + b"0\r\nA: ", b"x" * 1000),
        (CHUNKED + b"0\r\n", b"A: b\r\n" * 200),
    ],
    ids=["headers", "header", "reason", "interim answers", "lines", "size", "extension", "trailer", "trailers"],
)
def test_overhead_without_a_body_is_limited(start: bytes, more: bytes) -> None:
    fed, why = fed_until_given_up(AnswerParser(), start, more)
    assert f"over {MOST_OVERHEAD} bytes" in why
    assert fed <= MOST_OVERHEAD + len(start) + len(more)


def test_a_head_has_no_more_than_so_many_headers() -> None:
    fields = b"".join(b"A%d: b\r\n" % number for number in range(MOST_FIELDS))
    with pytest.raises(NotHttp, match=f"over {MOST_FIELDS} headers"):
        read(OK + fields + b"Content-Length: 5\r\n\r\nhello")


def test_a_body_has_no_more_than_so_many_bytes() -> None:
    fed, why = fed_until_given_up(AnswerParser(most=10_000), CHUNKED, b"3e8\r\n" + b"x" * 1000 + b"\r\n")
    assert why == "an answer of over 10000 bytes"
    assert fed < 11_100


def test_a_body_in_tiny_chunks_takes_no_more_memory_than_one_in_large_chunks() -> None:
    parser = AnswerParser()
    parser.feed(CHUNKED + b"2\r\nab\r\n" * 50_000)
    assert sum(map(sys.getsizeof, parser.parts)) < 101_000


# --- one answer after the other ---


def test_the_next_answer_is_read_after_the_first() -> None:
    parser = AnswerParser()
    assert feed(parser, WHOLE) == (200, b"hello")
    assert parser.can_go_on
    parser.start_over()
    refusal = b"HTTP/1.1 429 Slow\r\nretry-AFTER: 7\r\nContent-Length: 2\r\n\r\nno"
    assert feed(parser, refusal) == (429, b"no")
    assert parser.head is not None
    assert parser.head.retry_after == "7"


@pytest.mark.parametrize("surplus", [b"garbage", WHOLE, b"HTTP/1.1 100 Continue\r\n\r\n"])
def test_an_answer_followed_by_surplus_bytes_counts_and_is_the_last(surplus: bytes) -> None:
    parser = AnswerParser()
    assert feed(parser, WHOLE + surplus) == (200, b"hello")
    assert not parser.can_go_on


@pytest.mark.parametrize("raw", [OK + b"Connection: close\r\nContent-Length: 0\r\n\r\n", b"HTTP/1.0 204 None\r\n\r\n"])
def test_an_answer_that_closes_its_connection_is_the_last(raw: bytes) -> None:
    parser = AnswerParser()
    feed(parser, raw)
    assert not parser.can_go_on


@pytest.mark.parametrize("field", [b"", b"Transfer-Encoding: gzip\r\n", b"Transfer-Encoding: xchunked\r\n"])
def test_a_body_without_a_length_ends_with_its_connection(field: bytes) -> None:
    parser = AnswerParser()
    parser.feed(OK + field + b"\r\nhello")
    assert parser.head is not None
    assert parser.head.ends_with_connection
    assert not parser.has_ended


# --- properties ---

bodies = st.binary(max_size=300)


@st.composite
def valid_answers(draw: st.DrawFn) -> tuple[bytes, int, bytes]:
    """The bytes of an answer, its status and its body."""
    status, body = draw(st.sampled_from([200, 201, 404, 409, 500])), draw(bodies)
    interim = draw(st.sampled_from([b"", b"HTTP/1.1 100 Continue\r\nA: b\r\n\r\n"]))
    head = interim + b"HTTP/1.1 %d Because\r\nAudit-Id: 1\r\nEmpty:\r\n" % status
    if draw(st.booleans()):
        return head + b"Content-Length:%s%d\r\n\r\n%s" % (b" " * draw(st.integers(0, 3)), len(body), body), status, body
    cuts = sorted(draw(st.sets(st.integers(1, max(1, len(body))), max_size=5)) | {0, len(body)})
    chunks = [body[start:end] for start, end in pairwise(cuts) if end <= len(body)]
    extension = draw(st.sampled_from([b"", b";x", b";x=y"]))
    coded = b"".join(b"%x%s\r\n%s\r\n" % (len(chunk), extension, chunk) for chunk in chunks)
    trailers = draw(st.sampled_from([b"", b"X: y\r\n"]))
    return head + b"Transfer-Encoding: chunked\r\n\r\n" + coded + b"0\r\n" + trailers + b"\r\n", status, body


def pieces_of(raw: bytes, cuts: Iterable[int]) -> list[bytes]:
    at = [0, *sorted(cut for cut in cuts if cut < len(raw)), len(raw)]
    return [raw[start:end] for start, end in pairwise(at) if end > start]


@settings(deadline=None)
@given(valid_answers(), st.sets(st.integers(1, 600), max_size=20))
def test_an_answer_is_the_same_for_every_split(answer: tuple[bytes, int, bytes], cuts: set[int]) -> None:
    raw, status, body = answer
    assert read(*pieces_of(raw, cuts)) == (status, body)
    assert read(*pieces_of(raw, range(1, len(raw)))) == (status, body)


@st.composite
def broken_answers(draw: st.DrawFn) -> bytes:
    """Anything at all, or an answer with something else in place of a part of it."""
    raw = draw(valid_answers())[0]
    start = draw(st.integers(0, len(raw)))
    end = draw(st.integers(start, min(len(raw), start + 4)))
    spoilt = draw(st.binary(max_size=8) | st.sampled_from([b"-6", b"\r\n", b"0", b"_", b"Content-Length: 3\r\n"]))
    return draw(st.binary(max_size=200) | st.just(raw[:start] + spoilt + raw[end:]))


def outcome(pieces: Iterable[bytes]) -> tuple[str, int, bytes]:
    parser, fed = AnswerParser(), 0
    for piece in pieces:
        fed += len(piece)
        try:
            parser.feed(piece)
        except NotHttp:
            return "broken", 0, b""
        assert sum(map(len, parser.parts)) <= fed, "more came out than went in"
        if parser.has_ended:
            return "ended", parser.head.status if parser.head else 0, b"".join(parser.parts)
    return "waits for more", 0, b""


@settings(deadline=None)
@given(broken_answers(), st.sets(st.integers(1, 600), max_size=20))
def test_random_bytes_parse_to_the_same_end_for_every_split(raw: bytes, cuts: set[int]) -> None:
    whole = outcome([raw])
    assert outcome(pieces_of(raw, cuts)) == whole
    assert outcome(pieces_of(raw, range(1, len(raw)))) == whole
