"""Canonical JSON (RFC 8785), and the detached signature over it (RFC 7515, appendix F)."""
import json
import math
from base64 import urlsafe_b64encode
from typing import Any, Callable, Mapping

__all__ = ["Signer", "canonical", "canonical_number", "detached_jws"]

#: Returns the Ed25519 signature of its argument: the standard library has none.
Signer = Callable[[bytes], bytes]

#: Integers that a double holds exactly, as JavaScript reads every number.
_EXACT = 2**53


def canonical(value: Any) -> str:
    """Sorted keys, no space, numbers as ECMAScript writes them.

    :raises ValueError: for what is no JSON: NaN, an infinity, an integer beyond all doubles
    """
    if value is None or isinstance(value, (bool, str)):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, int):
        return str(value) if abs(value) <= _EXACT else canonical_number(_double(value))
    if isinstance(value, float):
        return canonical_number(value)
    if isinstance(value, (list, tuple)):
        return "[%s]" % ",".join(canonical(item) for item in value)
    members = sorted(value.items(), key=_utf16)
    return "{%s}" % ",".join(
        "%s:%s" % (json.dumps(key, ensure_ascii=False), canonical(item)) for key, item in members
    )


def _utf16(member: Any) -> bytes:
    """Keys are sorted by UTF-16 units, which puts those beyond the BMP before U+E000."""
    return member[0].encode("utf-16-be", "surrogatepass")


def _double(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        raise ValueError("an integer of %d bits is no JSON number" % value.bit_length()) from None


def canonical_number(value: float) -> str:
    """As ECMA-262 Number::toString: the shortest digits, exponents from 1e21 and below 1e-6."""
    if math.isnan(value) or math.isinf(value):
        raise ValueError("%r is no JSON number" % value)
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    # repr has the shortest digits as well: value is 0.DIGITS times 10 to the power of `point`.
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    point = len(whole) + int(exponent or 0)
    leading = len(whole + fraction) - len((whole + fraction).lstrip("0"))
    digits = (whole + fraction).strip("0")
    point -= leading
    count = len(digits)
    if count <= point <= 21:
        return sign + digits + "0" * (point - count)
    if 0 < point <= 21:
        return "%s%s.%s" % (sign, digits[:point], digits[point:])
    if -6 < point <= 0:
        return "%s0.%s%s" % (sign, "0" * -point, digits)
    tail = "" if count == 1 else "." + digits[1:]
    power = point - 1
    return "%s%s%se%s%d" % (sign, digits[0], tail, "+" if power >= 0 else "-", abs(power))


def detached_jws(envelope: Mapping[str, Any], kid: str, signer: Signer) -> str:
    """The value of the header ``x-jws-signature``."""
    head = _base64url(json.dumps({"alg": "EdDSA", "kid": kid}).encode("utf-8"))
    body = _base64url(canonical(envelope).encode("utf-8"))
    signature = signer(("%s.%s" % (head, body)).encode("ascii"))
    return "%s..%s" % (head, _base64url(signature))


def _base64url(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode("ascii")
