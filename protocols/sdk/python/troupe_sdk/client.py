"""TroupeClient: sends envelopes to a troupe over HTTP and follows their tasks.

Needs nothing but Python 3.8's standard library. What it takes off you: the envelope around a
payload; resending what may pass (429, 503, 504, a broken connection) with the same idempotency key,
not before ``Retry-After``; following a task that takes longer to its end; signing (A2A-External),
when it is given a signer, since the standard library has no Ed25519.

One client may be used by many threads.
"""
import http.client
import json
import keyword
import math
import random
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from base64 import urlsafe_b64encode
from dataclasses import asdict, fields, is_dataclass
from datetime import datetime, timezone
from enum import Enum
from hashlib import sha256
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Tuple, Union, get_type_hints

from .types import Task, TaskEvent

__all__ = ["Task", "TaskEvent", "TroupeClient", "TroupeRefusal", "canonical", "is_final"]

FINAL = frozenset(["SUCCEEDED", "FAILED", "CANCELLED", "COMPENSATED", "EXPIRED"])
RESEND = frozenset([429, 502, 503, 504])
PAUSE_SEC_FIRST = 0.2

Payload = Union[Mapping[str, Any], Any]
Signer = Callable[[bytes], bytes]


class TroupeRefusal(Exception):
    """What the other side refused, or a failure on the way that did not pass."""

    def __init__(self, error: Mapping[str, Any], status: int) -> None:
        super().__init__("%s: %s" % (error.get("code"), error.get("message")))
        self.code = str(error.get("code", "UNAVAILABLE"))
        self.status = status  # HTTP status; 0 when no answer came
        self.details: Dict[str, Any] = dict(error.get("details") or {})
        self.retry_after_sec: Optional[float] = error.get("retry_after_sec")


def is_final(task: Task) -> bool:
    return task.state.value in FINAL


class TroupeClient:
    def __init__(
        self,
        url: str,
        token: Union[str, Callable[[], str]],
        tenant: str,
        sub: str,
        roles: Tuple[str, ...] = (),
        *,
        kid: Optional[str] = None,
        signer: Optional[Signer] = None,
        attempts_max: int = 7,
        pause_sec_max: float = 30.0,
        timeout_sec: float = 30.0,
    ) -> None:
        """
        :param token: bearer token, or what returns a fresh one; called before every request
        :param sub: and ``roles``, ``tenant``: as the token has them
        :param signer: returns the Ed25519 signature of its argument; with ``kid`` every envelope
            is signed
        :param attempts_max: sends of one envelope, the first included
        """
        self._url = url.rstrip("/")
        self._token = token
        self._tenant = tenant
        self._principal = {"sub": sub, "roles": list(roles)}
        self._kid = kid
        self._signer = signer
        self._attempts_max = attempts_max
        self._pause_sec_max = pause_sec_max
        self._timeout_sec = timeout_sec
        self._seqs: Dict[Tuple[str, str], int] = {}
        self._lock = threading.Lock()

    def call(self, action: str, payload: Payload, **options: Any) -> Task:
        """Sends a payload and waits for the end of its task. Options: see ``envelope``."""
        return self.finished(self.submit(action, payload, **options))

    def submit(self, action: str, payload: Payload, **options: Any) -> Task:
        """Sends a payload; the task as it is then: ended, or ACKED or RUNNING.

        :raises TroupeRefusal: when it was not accepted
        """
        return self.send(self.envelope(action, payload, **options))

    def envelope(
        self,
        action: str,
        payload: Payload,
        *,
        version: str = "1.0.0",
        schema_version: str = "1.0",
        idempotency_key: Optional[str] = None,
        context_id: Optional[str] = None,
        correlation_id: Optional[str] = None,
        causation_id: Optional[str] = None,
        trace_id: Optional[str] = None,
        ttl_sec: int = 300,
        data_locality: Optional[str] = None,
        resource_links: Optional[List[Mapping[str, Any]]] = None,
    ) -> Dict[str, Any]:
        """The envelope of a payload (a mapping or one of the dataclasses), ready to be sent."""
        body = to_json(payload)
        request_id = str(uuid.uuid4())
        envelope: Dict[str, Any] = {
            "version": "1.0",
            "request_id": request_id,
            "correlation_id": correlation_id or request_id,
            "causation_id": causation_id,
            "trace_id": trace_id or uuid.uuid4().hex,
            "tenant_id": self._tenant,
            "principal": self._principal,
            "timestamp": datetime.now(timezone.utc).isoformat(timespec="milliseconds"),
            "ttl_sec": ttl_sec,
            "idempotency_key": idempotency_key or str(uuid.uuid4()),
            "seq": self._next_seq(_subject_of(body, context_id), version),
            "action": action,
            "action_version": version,
            "payload": {**body, "schema_version": schema_version},
        }
        optional = {
            "context_id": context_id,
            "data_locality": data_locality,
            "resource_links": resource_links,
        }
        envelope.update({key: value for key, value in optional.items() if value is not None})
        return envelope

    def send(self, envelope: Mapping[str, Any]) -> Task:
        """Sends an envelope, again while that may help.

        :raises TroupeRefusal:
        """
        attempt = 0
        while True:
            attempt += 1
            try:
                return task_of(self._json("POST", "/v1/envelopes", envelope))
            except TroupeRefusal as refusal:
                if attempt >= self._attempts_max:
                    raise
                last_seq = refusal.details.get("last_seq")
                if refusal.code == "CONFLICT" and isinstance(last_seq, int):
                    # Another envelope of this subject was faster; the key keeps this one from
                    # counting twice.
                    envelope = {**envelope, "seq": self._seq_above(last_seq, envelope)}
                elif refusal.status == 0 or refusal.status in RESEND:
                    time.sleep(self._pause_sec(attempt, refusal.retry_after_sec))
                else:
                    raise

    def task(self, task_id: str) -> Task:
        """:raises TroupeRefusal: NOT_FOUND"""
        return task_of(self._json("GET", "/v1/tasks/" + urllib.parse.quote(task_id, safe="")))

    def finished(self, task: Task) -> Task:
        """Waits for the end of a task."""
        failures = 0
        while not is_final(task):
            try:
                for event in self.events(task.task_id, after=task.events[-1].n if task.events else 0):
                    task = event.task
                if not is_final(task):
                    task = self.task(task.task_id)
                failures = 0
            except TroupeRefusal as refusal:
                if refusal.status != 0 and refusal.status not in RESEND:
                    raise
                failures += 1
            if not is_final(task):
                time.sleep(self._pause_sec(failures + 1, None))
        if task.result is None and task.state.value == "SUCCEEDED":
            return self.task(task.task_id)
        return task

    def events(self, task_id: str, after: int = 0) -> Iterator[TaskEvent]:
        """What a task tells, from event ``after`` + 1 on, until it ends or the connection breaks."""
        path = "/v1/tasks/%s/events" % urllib.parse.quote(task_id, safe="")
        headers = {"accept": "text/event-stream", "last-event-id": str(after)}
        response = self._open("GET", path, None, headers)
        data: List[str] = []
        try:
            with response:
                for raw in response:
                    line = raw.decode("utf-8").rstrip("\r\n")
                    if line.startswith("data:"):
                        data.append(line[5:].lstrip())
                    elif line == "" and data:
                        yield from_json(TaskEvent, json.loads("\n".join(data)))
                        data = []
        except (OSError, http.client.HTTPException):
            return

    def cancel(self, task_id: str, reason: Optional[str] = None) -> Task:
        """:raises TroupeRefusal: CONFLICT when it has ended otherwise"""
        path = "/v1/tasks/%s/cancel" % urllib.parse.quote(task_id, safe="")
        return task_of(self._json("POST", path, {} if reason is None else {"reason": reason}))

    def input(self, task_id: str, value: Any) -> Task:
        """Gives a task the input or approval that it waits for."""
        path = "/v1/tasks/%s/input" % urllib.parse.quote(task_id, safe="")
        return task_of(self._json("POST", path, {"input": value}))

    def capabilities(self) -> Dict[str, Any]:
        """What is on offer."""
        return self._json("GET", "/mcp/capabilities")

    def upload(self, contents: bytes, content_type: str) -> Dict[str, Any]:
        """Stores a file; what to put into a payload."""
        headers = {"content-type": content_type, "x-artifact-sha256": sha256(contents).hexdigest()}
        with self._open("POST", "/v1/artifacts", contents, headers) as response:
            return json.loads(response.read())

    # Rises per subject and MAJOR, also after a restart: a new client begins above an old one's.
    def _next_seq(self, subject: str, version: str) -> int:
        key = (version.split(".", 1)[0], subject)
        with self._lock:
            following = max(self._seqs.get(key, 0) + 1, int(time.time() * 1000))
            self._seqs[key] = following
            return following

    def _seq_above(self, last: int, envelope: Mapping[str, Any]) -> int:
        subject = _subject_of(envelope["payload"], envelope.get("context_id"))
        version = envelope["action_version"]
        key = (version.split(".", 1)[0], subject)
        with self._lock:
            self._seqs[key] = max(self._seqs.get(key, 0), last)
        return self._next_seq(subject, version)

    def _json(self, method: str, path: str, body: Any = None) -> Dict[str, Any]:
        headers: Dict[str, str] = {}
        data = None
        if body is not None:
            data = json.dumps(body, ensure_ascii=False).encode("utf-8")
            headers["content-type"] = "application/json"
            if self._signer is not None and path == "/v1/envelopes":
                headers["x-jws-signature"] = self._sign(body)
        with self._open(method, path, data, headers) as response:
            return json.loads(response.read())

    def _open(self, method: str, path: str, data: Optional[bytes], headers: Mapping[str, str]) -> Any:
        token = self._token() if callable(self._token) else self._token
        request = urllib.request.Request(self._url + path, data=data, method=method)
        request.add_header("authorization", "Bearer " + token)
        for name, value in headers.items():
            request.add_header(name, value)
        try:
            return urllib.request.urlopen(request, timeout=self._timeout_sec)
        except urllib.error.HTTPError as error:
            raise _refusal_of(error) from None
        except (OSError, http.client.HTTPException) as error:
            message = "no answer from %s: %s" % (self._url, error)
            raise TroupeRefusal({"code": "UNAVAILABLE", "message": message}, 0) from error

    def _pause_sec(self, attempt: int, retry_after_sec: Optional[float]) -> float:
        most = min(self._pause_sec_max, PAUSE_SEC_FIRST * 2 ** (attempt - 1))
        return max(retry_after_sec or 0.0, random.random() * most)

    def _sign(self, envelope: Mapping[str, Any]) -> str:
        """Detached JWS (RFC 7515 appendix F) over the canonical envelope (RFC 8785)."""
        assert self._signer is not None
        head = _base64url(json.dumps({"alg": "EdDSA", "kid": self._kid}).encode("utf-8"))
        body = _base64url(canonical(envelope).encode("utf-8"))
        signature = self._signer(("%s.%s" % (head, body)).encode("ascii"))
        return "%s..%s" % (head, _base64url(signature))


def _subject_of(payload: Mapping[str, Any], context_id: Optional[str]) -> str:
    subject = payload.get("subject")
    return subject if isinstance(subject, str) and subject else (context_id or "")


def _refusal_of(error: urllib.error.HTTPError) -> TroupeRefusal:
    with error:
        text = error.read().decode("utf-8", "replace")
    try:
        body = dict(json.loads(text)["error"])
    except (ValueError, KeyError, TypeError):
        # Not of the taxonomy: a proxy's answer.
        body = {"code": "UNAVAILABLE", "message": "HTTP %d %s" % (error.code, text[:200])}
    after = error.headers.get("retry-after")
    if after is not None and after.isdigit():
        body["retry_after_sec"] = float(after)
    return TroupeRefusal(body, error.code)


# ---- JSON


def task_of(value: Mapping[str, Any]) -> Task:
    return from_json(Task, value)


def to_json(value: Any) -> Dict[str, Any]:
    """A payload as JSON has it: dataclasses without what is not set."""
    if is_dataclass(value) and not isinstance(value, type):
        raw = asdict(value)
        names = {field.name: _json_name(type(value), field.name) for field in fields(value)}
        return {names[key]: _plain(item) for key, item in raw.items() if item is not None}
    return dict(value)


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value


def from_json(kind: Any, value: Any) -> Any:
    """A value of one of the generated dataclasses; fields it does not know are left out."""
    origin = getattr(kind, "__origin__", None)
    arguments = getattr(kind, "__args__", ())
    if value is None:
        return None
    if origin is Union:
        return from_json(next(part for part in arguments if part is not type(None)), value)
    if origin in (list, List) and isinstance(value, list):
        return [from_json(arguments[0], item) for item in value]
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(value)
    if isinstance(kind, type) and is_dataclass(kind):
        hints = get_type_hints(kind)
        return kind(
            **{
                field.name: from_json(hints[field.name], value.get(_json_name(kind, field.name)))
                for field in fields(kind)
            }
        )
    return value


def _json_name(kind: type, name: str) -> str:
    """A field whose JSON name is a word of Python's stands behind its class's name."""
    _, _, rest = name.partition("_")
    return rest if name.startswith(kind.__name__.lower()) and keyword.iskeyword(rest) else name


def canonical(value: Any) -> str:
    """Canonical JSON (RFC 8785): sorted keys, no space, numbers as ECMAScript writes them."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, int):
        return canonical_number(float(value)) if abs(value) > 2**53 else str(value)
    if isinstance(value, float):
        return canonical_number(value)
    if isinstance(value, (list, tuple)):
        return "[%s]" % ",".join(canonical(item) for item in value)
    members = sorted(value.items(), key=lambda member: member[0].encode("utf-16-be"))
    return "{%s}" % ",".join(
        "%s:%s" % (json.dumps(key, ensure_ascii=False), canonical(item)) for key, item in members
    )


def canonical_number(value: float) -> str:
    """As ECMA-262 Number::toString: shortest digits, exponents from 1e21 and below 1e-6."""
    if math.isnan(value) or math.isinf(value):
        raise ValueError("%r is no JSON number" % value)
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    mantissa, _, exponent_text = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = "" if fraction == "0" else fraction
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent_text or 0)
    if whole.strip("0") == "":
        point = int(exponent_text or 0) - (len(fraction) - len(fraction.lstrip("0")))
    digits = digits.rstrip("0") or "0"
    count = len(digits)
    if count <= point <= 21:
        return sign + digits + "0" * (point - count)
    if 0 < point <= 21:
        return "%s%s.%s" % (sign, digits[:point], digits[point:])
    if -6 < point <= 0:
        return "%s0.%s%s" % (sign, "0" * -point, digits)
    power = point - 1
    tail = "" if count == 1 else "." + digits[1:]
    return "%s%s%se%s%d" % (sign, digits[0], tail, "+" if power >= 0 else "-", abs(power))


def _base64url(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode("ascii")
