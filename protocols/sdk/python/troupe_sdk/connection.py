"""Connection: sends one request with the token and a timeout, and returns one response.

Every failure is a TroupeRefusal: a refusal of the server, or status 0 when there was no complete
response. This class never retries.
"""
import http.client
import json
import urllib.error
import urllib.request
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Union

__all__ = ["Connection", "Token", "TroupeRefusal"]

#: Bearer token, or what returns a fresh one.
Token = Union[str, Callable[[], str]]

PASSING = frozenset([0, 408, 429, 502, 503, 504])


class TroupeRefusal(Exception):
    """A refusal of the server, or a connection failure."""

    def __init__(self, error: Mapping[str, Any], status: int) -> None:
        super().__init__("%s: %s" % (error.get("code"), error.get("message")))
        #: of the error taxonomy; UNAVAILABLE for a failure on the way
        self.code = str(error.get("code", "UNAVAILABLE"))
        #: HTTP status; 0 when no whole answer came
        self.status = status
        self.details: Dict[str, Any] = dict(error.get("details") or {})
        self.retry_after_sec: Optional[float] = error.get("retry_after_sec")

    @property
    def may_pass(self) -> bool:
        """Whether the same request may succeed later."""
        return self.status in PASSING


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Refuses redirects: a gateway never redirects, and urllib would send the token along."""

    def redirect_request(self, *_: Any) -> None:
        return None


class Connection:
    def __init__(self, url: str, token: Token, timeout_sec: float) -> None:
        self._url = url.rstrip("/")
        self._token = token
        self._timeout_sec = timeout_sec
        self._opener = urllib.request.build_opener(_NoRedirects)

    def json(
        self,
        method: str,
        path: str,
        body: Optional[bytes] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> Any:
        """:raises TroupeRefusal:"""
        request = self._request(method, path, body, headers or {})
        try:
            with self._open(request, self._timeout_sec) as response:
                return json.loads(response.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise self._no_answer(error) from error

    def data(self, path: str, headers: Mapping[str, str], timeout_sec: float) -> Iterator[str]:
        """The ``data`` of each server-sent event, until the stream ends.

        :param timeout_sec: longest silence; a stream says something every 15 s
        :raises TroupeRefusal:
        """
        request = self._request("GET", path, None, headers)
        lines: List[str] = []
        try:
            with self._open(request, timeout_sec) as response:
                for raw in response:
                    line = raw.decode("utf-8").rstrip("\r\n")
                    if line.startswith("data:"):
                        lines.append(line[6:] if line.startswith("data: ") else line[5:])
                    elif line == "" and lines:
                        yield "\n".join(lines)
                        lines = []
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise self._no_answer(error) from error

    def _request(
        self, method: str, path: str, body: Optional[bytes], headers: Mapping[str, str]
    ) -> urllib.request.Request:
        token = self._token() if callable(self._token) else self._token
        request = urllib.request.Request(self._url + path, data=body, method=method)
        for name, value in {"authorization": "Bearer " + token, **headers}.items():
            request.add_header(name, value)
        return request

    def _open(self, request: urllib.request.Request, timeout_sec: float) -> Any:
        try:
            return self._opener.open(request, timeout=timeout_sec)
        except urllib.error.HTTPError as error:
            with error:
                text = error.read().decode("utf-8", "replace")
            raise _refusal_of(error, text) from None

    def _no_answer(self, error: Exception) -> TroupeRefusal:
        message = "no whole answer from %s: %s" % (self._url, error)
        return TroupeRefusal({"code": "UNAVAILABLE", "message": message}, 0)


def _refusal_of(error: urllib.error.HTTPError, text: str) -> TroupeRefusal:
    try:
        body = dict(json.loads(text)["error"])
    except (ValueError, KeyError, TypeError):
        # Not an error of the taxonomy: the response of a proxy.
        body = {"code": "UNAVAILABLE", "message": "HTTP %d %s" % (error.code, text[:200])}
    after = _seconds_of(error.headers.get("retry-after"))
    if after is not None:
        body["retry_after_sec"] = after
    return TroupeRefusal(body, error.code)


def _seconds_of(retry_after: Optional[str]) -> Optional[float]:
    """RFC 9110, 10.2.3: seconds, or a time."""
    if retry_after is None:
        return None
    if retry_after.isdigit():
        return float(retry_after)
    try:
        at = parsedate_to_datetime(retry_after)
        return max(0.0, (at - datetime.now(timezone.utc)).total_seconds())
    except (TypeError, ValueError):
        return None
