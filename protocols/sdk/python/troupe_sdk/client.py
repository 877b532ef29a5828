"""TroupeClient: sends envelopes to a troupe over HTTP and follows their tasks.

Uses only the standard library of Python 3.8. The client wraps a payload in an envelope; retries
temporary failures (408, 429, 502, 503, 504, a broken connection) with the same idempotency key,
not before ``Retry-After``; follows a task to its end; and signs (A2A-External), if a signer is set.

One client may be used by many threads.
"""
import json
import random
import time
import urllib.parse
import uuid
from datetime import datetime, timezone
from hashlib import sha256
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Tuple, TypeVar, Union

from .canonical import Signer, detached_jws
from .connection import Connection, Token, TroupeRefusal
from .numbers import Line, Numbers
from .types import Evidence, Task, TaskEvent
from .values import from_json, to_json

__all__ = ["TroupeClient", "is_final", "waits_for_input"]

FINAL = frozenset(["SUCCEEDED", "FAILED", "CANCELLED", "COMPENSATED", "EXPIRED"])
PAUSE_SEC_FIRST = 0.2
#: How often a number that came too late is exchanged.
RENUMBERINGS_MAX = 20
#: A task that begins to wait for input tells no event: it is looked at so often beside.
LOOK_SEC_FIRST = 1.0
LOOK_SEC_MAX = 10.0
#: Streams say something every 15 s, if only that they are still there.
SILENCE_SEC_MAX = 60.0

Payload = Union[Mapping[str, Any], Any]
T = TypeVar("T")


def is_final(task: Task) -> bool:
    return task.state in FINAL


def waits_for_input(task: Task) -> bool:
    """Whether the task waits for input of its caller; ``input`` sends it."""
    return task.waiting is not None and task.waiting.waiting_for == "input"


class TroupeClient:
    def __init__(
        self,
        url: str,
        token: Token,
        tenant: str,
        sub: str,
        roles: Tuple[str, ...] = (),
        *,
        kid: Optional[str] = None,
        signer: Optional[Signer] = None,
        retry_sec: float = 120.0,
        attempts_max: Optional[int] = None,
        pause_sec_max: float = 10.0,
        timeout_sec: float = 30.0,
        patience_sec: float = 600.0,
    ) -> None:
        """
        :param token: bearer token, or a function that returns one; called before every request
        :param sub: like ``roles`` and ``tenant``, the value in the token
        :param signer: returns the Ed25519 signature of its argument; with ``kid`` every envelope
            is signed
        :param retry_sec: for how long a request is retried after temporary failures
        :param attempts_max: attempts per request, including the first; default: no limit but
            ``retry_sec``
        :param pause_sec_max: maximum backoff between two attempts
        :param timeout_sec: maximum time without data in one response
        :param patience_sec: how long failures are tolerated while following a task
        """
        if (kid is None) != (signer is None):
            raise ValueError("kid and signer belong together: give both or none")
        self._connection = Connection(url, token, timeout_sec)
        self._tenant = tenant
        self._principal = {"sub": sub, "roles": list(roles)}
        self._kid = kid
        self._signer = signer
        self._retry_sec = retry_sec
        self._attempts_max = attempts_max
        self._pause_sec_max = pause_sec_max
        self._patience_sec = patience_sec
        self._numbers = Numbers()

    def call(
        self, action: str, payload: Payload, *, wait_sec: Optional[float] = None, **options: Any
    ) -> Task:
        """Sends a payload and waits until its task has ended or waits for input.

        Options: see ``envelope``. ``wait_sec`` and raises: see ``finished``.
        """
        return self.finished(self.submit(action, payload, **options), wait_sec=wait_sec)

    def submit(self, action: str, payload: Payload, **options: Any) -> Task:
        """Sends a payload. Returns the task in its current state: ended, ACKED or RUNNING.

        :raises TroupeRefusal: when it was not accepted
        """
        body = to_json(payload)
        version = options.get("version", "1.0.0")
        self._numbers.free(_line_of(body, options.get("context_id"), version))
        return self.send(self.envelope(action, body, **options))

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
        """The envelope of a payload (a mapping or one of the dataclasses), ready to be sent.

        :param idempotency_key: a request with the same key and payload returns the first result,
            for at least a day; default: a new key
        """
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
            "seq": self._numbers.next(_line_of(body, context_id, version)),
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
        """Sends an envelope and retries temporary failures.

        If its sequence number is too low, it is sent again with a higher one.

        :raises TroupeRefusal:
        """
        try:
            return self._post(envelope, {})
        except TroupeRefusal as refusal:
            last = _last_seq_of(refusal)
            if last is None:
                raise
        line = _line_of(
            envelope["payload"], envelope.get("context_id"), envelope["action_version"]
        )
        # The idempotency key prevents a second execution.
        with self._numbers.alone(line):
            return self._renumbered(envelope, line, last)

    def _renumbered(self, first: Mapping[str, Any], line: Line, last: int) -> Task:
        rounds = 0
        while True:
            rounds += 1
            envelope = {**first, "seq": self._numbers.next(line, above=last)}
            try:
                # Later envelopes wait until this one is accepted, not until it is done.
                return self._post(envelope, {"prefer": "respond-async"})
            except TroupeRefusal as refusal:
                faster = _last_seq_of(refusal)
                if faster is None or rounds >= RENUMBERINGS_MAX:
                    raise
                last = faster
            time.sleep(self._pause_sec(1))

    def task(self, task_id: str) -> Task:
        """:raises TroupeRefusal: NOT_FOUND"""
        return self._again(lambda: self._look(task_id))

    def finished(self, task: Task, *, wait_sec: Optional[float] = None) -> Task:
        """Waits until a task has ended or waits for input, even if the server restarts.

        :param wait_sec: time limit; default: none
        :raises TimeoutError: it has not ended by then; the task continues
        :raises TroupeRefusal: it could not be read for ``patience_sec``; the task continues
        """
        end = None if wait_sec is None else time.monotonic() + wait_sec
        look_sec = LOOK_SEC_FIRST
        patience = _Patience(self, task.task_id)
        while not is_final(task) and not waits_for_input(task):
            left = look_sec if end is None else min(look_sec, end - time.monotonic())
            if left <= 0:
                raise TimeoutError("task %s has not ended within %s s" % (task.task_id, wait_sec))
            try:
                task = self._followed(task, left)
                patience.restore()
                look_sec = min(2 * look_sec, LOOK_SEC_MAX)
            except TroupeRefusal as refusal:
                patience.bear(refusal)
        return task

    def _followed(self, task: Task, look_sec: float) -> Task:
        """Returns the task after ``look_sec``, or at its end."""
        try:
            for event in self._stream(task.task_id, _last_event(task), look_sec):
                task = event.task
        except TroupeRefusal as refusal:
            if not refusal.may_pass:
                raise
        # An event may lack a large result.
        is_whole = is_final(task) and (task.state != "SUCCEEDED" or task.result is not None)
        return task if is_whole else self._look(task.task_id)

    def events(self, task_id: str, after: int = 0) -> Iterator[TaskEvent]:
        """The events of a task after number ``after``, each once and in order, until it has ended.

        Reconnects after connection failures.

        :raises TroupeRefusal: as ``finished``
        """
        patience = _Patience(self, task_id)
        while True:
            try:
                for event in self._stream(task_id, after, SILENCE_SEC_MAX):
                    patience.restore()
                    after = event.n
                    yield event
                    if is_final(event.task) and _last_event(event.task) <= after:
                        return
                task = self._look(task_id)
                if is_final(task) and _last_event(task) <= after:
                    return
                time.sleep(self._pause_sec(1))
            except TroupeRefusal as refusal:
                patience.bear(refusal)

    def cancel(self, task: Union[Task, str], reason: Optional[str] = None) -> Task:
        """Cancels a task, and compensates it if possible. May be repeated.

        :raises TroupeRefusal: CONFLICT when it has ended otherwise
        """
        found = self.task(task) if isinstance(task, str) else task
        said = {} if reason is None else {"reason": reason}
        return self.submit(found.action + ".cancel", {"task_id": found.task_id, **said})

    def input(self, task: Union[Task, str], value: Any) -> Task:
        """Sends the input that a task waits for. A repeat has no effect.

        :raises TroupeRefusal: CONFLICT when the task does not wait for input
        """
        task_id = task if isinstance(task, str) else task.task_id
        return self.submit("task.provide_input", {"task_id": task_id, "input": value})

    def capabilities(self) -> Dict[str, Any]:
        """The offered agents and actions."""
        return self._again(lambda: self._connection.json("GET", "/mcp/capabilities"))

    def evidence(self, job_id: str) -> List[Evidence]:
        """The evidence of a job.

        :raises TroupeRefusal: NOT_FOUND
        """
        path = "/evidence/" + urllib.parse.quote(job_id, safe="")
        found = self._again(lambda: self._connection.json("GET", path))
        return [from_json(Evidence, record) for record in found["records"]]

    def upload(self, contents: bytes, content_type: str) -> Dict[str, Any]:
        """Stores a file; returns the fields that refer to it in a payload."""
        headers = {"content-type": content_type, "x-artifact-sha256": sha256(contents).hexdigest()}
        stored = self._again(
            lambda: self._connection.json("POST", "/v1/artifacts", contents, headers)
        )
        return {name: stored[name] for name in ("artifact_uri", "artifact_hash", "content_type")}

    def _look(self, task_id: str) -> Task:
        return from_json(Task, self._connection.json("GET", _path_of(task_id)))

    def _stream(self, task_id: str, after: int, timeout_sec: float) -> Iterator[TaskEvent]:
        headers = {"accept": "text/event-stream", "last-event-id": str(after)}
        for data in self._connection.data(_path_of(task_id) + "/events", headers, timeout_sec):
            yield from_json(TaskEvent, json.loads(data))

    def _post(self, envelope: Mapping[str, Any], more: Mapping[str, str]) -> Task:
        body = json.dumps(envelope, allow_nan=False).encode("ascii")
        headers = {"content-type": "application/json", **more}
        if self._signer is not None and self._kid is not None:
            # The signed text is the text that is sent.
            headers["x-jws-signature"] = detached_jws(json.loads(body), self._kid, self._signer)
        ask = lambda: self._connection.json("POST", "/v1/envelopes", body, headers)
        return from_json(Task, self._again(ask))

    def _again(self, ask: Callable[[], T]) -> T:
        """Retries an idempotent request while its failures are temporary."""
        attempt = 0
        until = time.monotonic() + self._retry_sec
        while True:
            attempt += 1
            try:
                return ask()
            except TroupeRefusal as refusal:
                if not refusal.may_pass or attempt == self._attempts_max:
                    raise
                pause = self._pause_sec(attempt, refusal.retry_after_sec)
                if time.monotonic() + pause > until:
                    raise
            time.sleep(pause)

    def _pause_sec(self, attempt: int, retry_after_sec: Optional[float] = None) -> float:
        """At least ``Retry-After``, plus jitter, so that clients do not retry at the same time."""
        most = min(self._pause_sec_max, PAUSE_SEC_FIRST * 2 ** min(attempt - 1, 30))
        return (retry_after_sec or 0.0) + random.random() * most


class _Patience:
    """Tolerates temporary failures, with a backoff after each."""

    def __init__(self, client: TroupeClient, task_id: str) -> None:
        self._client = client
        self._task_id = task_id
        self._failures = 0
        self._since = 0.0

    def restore(self) -> None:
        self._failures = 0

    def bear(self, refusal: TroupeRefusal) -> None:
        if not refusal.may_pass:
            raise refusal
        if self._failures == 0:
            self._since = time.monotonic()
        self._failures += 1
        if time.monotonic() - self._since > self._client._patience_sec:
            reason = "the task %s continues, but its state cannot be read: %s"
            text = reason % (self._task_id, refusal)
            error = {"code": refusal.code, "message": text, "details": {"task_id": self._task_id}}
            raise TroupeRefusal(error, refusal.status) from refusal
        time.sleep(self._client._pause_sec(self._failures, refusal.retry_after_sec))


def _line_of(payload: Mapping[str, Any], context_id: Optional[str], version: str) -> Line:
    """The scope in which sequence numbers increase: subject and MAJOR version."""
    subject = payload.get("subject")
    named = subject if isinstance(subject, str) and subject else (context_id or "")
    return (version.split(".", 1)[0], named)


def _last_seq_of(refusal: TroupeRefusal) -> Optional[int]:
    """The last accepted number, from a refusal because of the sequence number."""
    last = refusal.details.get("last_seq")
    return last if refusal.code == "CONFLICT" and isinstance(last, int) else None


def _path_of(task_id: str) -> str:
    return "/v1/tasks/" + urllib.parse.quote(task_id, safe="")


def _last_event(task: Task) -> int:
    return task.events[-1].n if task.events else 0
