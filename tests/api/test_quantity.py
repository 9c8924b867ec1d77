from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from koordpy.api.errors import MalformedValue
from koordpy.api.quantity import NANO, milli_units, nano_units, units

SUFFIXES = {
    "n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000), "": Fraction(1),
    "k": Fraction(10**3), "M": Fraction(10**6), "G": Fraction(10**9), "T": Fraction(10**12),
    "P": Fraction(10**15), "E": Fraction(10**18),
    "Ki": Fraction(2**10), "Mi": Fraction(2**20), "Gi": Fraction(2**30), "Ti": Fraction(2**40),
    "Pi": Fraction(2**50), "Ei": Fraction(2**60),
}  # fmt: skip


@given(st.integers(0, 10**6), st.from_regex(r"\A[0-9]{0,6}\Z"), st.sampled_from(sorted(SUFFIXES)), st.booleans())
def test_every_suffix_is_exact(whole, fraction, suffix, negative):
    text = f"{'-' if negative else ''}{whole}{'.' if fraction else ''}{fraction}{suffix}"
    exact = Fraction(f"{whole}.{fraction or '0'}") * SUFFIXES[suffix] * NANO
    rounded = min(-(-exact // 1), (2**63 - 1) * NANO)  # away from zero below a nano-unit, capped above int64
    assert nano_units(text) == (-rounded if negative else rounded)


@given(st.integers(1, 999), st.integers(-9, 15))
def test_exponents_are_exact(digits, exponent):
    assert nano_units(f"{digits}e{exponent}") == Fraction(digits) * Fraction(10) ** exponent * NANO


@pytest.mark.parametrize(("text", "expected"), [("1E", 10**18), ("1E3", 1000), ("1e3", 1000), (".5k", 500), ("5.", 5)])
def test_forms_that_look_alike_are_told_apart(text, expected):
    assert units(text) == expected


@pytest.mark.parametrize("text", ["1e400", "9" * 40, "1e999999999"])
def test_what_is_too_large_is_capped_like_kubernetes_does(text):
    assert nano_units(text) == (2**63 - 1) * NANO


@pytest.mark.parametrize("text", ["1e-400", "0.0000000001", "1e-999999999"])
def test_what_is_too_small_is_rounded_up_to_a_nano_unit(text):
    assert nano_units(text) == 1


@pytest.mark.parametrize(
    ("text", "milli"), [("100m", 100), ("1", 1000), ("0.0001", 1), ("1n", 1), ("-1n", -1), (2, 2000)]
)
def test_milli_units_round_away_from_zero(text, milli):
    assert milli_units(text) == milli


@pytest.mark.parametrize("text", ["", "abc", "1Kib", "1 Gi", "Gi", ".", "--1", "1e", "1ee3", "0x10", "1K", "1" * 2000])
def test_garbage_is_refused_and_named(text):
    with pytest.raises(MalformedValue, match="is not a Kubernetes quantity"):
        nano_units(text)
