from __future__ import annotations

import base64
import datetime
import email.utils
import http.client
import json
import random
import re
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Iterator
from typing import Any, Generic, NamedTuple, TypeVar

T = TypeVar("T")

_MAX_BODY = 256 << 20  # bytes of an answer
_MAX_EVENT = 32 << 20  # bytes of an event
_QUIET = 45.0  # seconds in which nothing may come from a stream: three of the server's comments
_FIRST_WAIT, _LONGEST_WAIT = 1.0, 30.0  # seconds until a stream is opened again

_KINDS = {400: "invalid", 401: "unauthorized", 403: "forbidden", 404: "not found", 409: "conflict", 410: "reset", 412: "stale", 413: "too large",
          422: "invalid", 429: "limited", 502: "unavailable", 503: "unavailable", 504: "unavailable"}


class Error(Exception):
    """What went wrong. kind is one of unauthorized, forbidden, not found, invalid, conflict, stale, reset, too large, limited,
    unavailable, network, answer, waits; status is that of HTTP, 0 if there was no answer; retry_after is in seconds."""

    def __init__(self, kind: str, detail: str, status: int = 0, title: str = "", errors: list[dict[str, str]] | None = None, retry_after: float = 0.0):
        self.kind, self.status, self.title, self.detail, self.errors, self.retry_after = kind, status, title, detail, errors or [], retry_after
        super().__init__(": ".join(part for part in (f"{status} {title}".strip() if status else kind, detail) if part))


class Records(list[T], Generic[T]):
    """A list that was read, and as of when: change is the number of the last change that it shows; sources and coverage say how fresh the
    sources are and whose silence an empty list repeats (empty: the server does not say); possible counts, for a place, the active hazards
    that the list leaves out because they are only known to be somewhere in a region or country there (None: the server does not say)."""

    change: int = 0
    sources: str = ""
    coverage: str = ""
    possible: int | None = None


class Event(NamedTuple):
    """A change, or a reset: then what was missed cannot be told, and the lists must be read anew. number is the place to go on after."""

    number: int
    type: str
    data: dict[str, Any]
    reset: str = ""


class _SameServer(urllib.request.HTTPRedirectHandler):
    """The token goes along with a redirect: none leads to another server."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        if req.get_method() not in ("GET", "HEAD") or urllib.parse.urlsplit(newurl)[:2] != urllib.parse.urlsplit(req.full_url)[:2]:
            return None
        return super().redirect_request(req, fp, code, msg, headers, newurl)


class Client:
    """A client of the server at url. It logs in with username and password when a token is needed, or uses token and refresh_token, or
    read_key. timeout is in seconds. patience is how many seconds a read waits in all where the server says that it is asked too much."""

    def __init__(self, url: str, *, username: str = "", password: str = "", token: str = "", refresh_token: str = "", read_key: str = "",
                 timeout: float = 60.0, patience: float = 30.0, user_agent: str = "hazardd-python") -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc or parts.query or parts.fragment or "@" in parts.netloc:
            raise Error("invalid", "expected an address that begins with http:// or https://, without user, query or fragment")
        if bool(username) != bool(password):
            raise Error("invalid", "username and password go together")
        self._address, self._prefix = url.rstrip("/"), "/key/" + urllib.parse.quote(read_key, safe="") if read_key else ""
        self._username, self._password, self._token, self._refresh = username, password, token, refresh_token
        self._renew_at = float("inf")  # by time.monotonic
        self._expires_at = float("inf")
        self._timeout, self._patience, self._agent, self._page_size = timeout, patience, user_agent, 100
        self._turn = threading.Lock()
        self._opener = urllib.request.build_opener(_SameServer)

    def __repr__(self) -> str:
        return f"hazardd.Client({self._address!r})"

    # What can be read.

    def active(self, **filter: Any) -> Records[dict[str, Any]]:
        """The active hazards that pass the filter, most severe first."""
        return self._list("/hazards/active", filter)[0]

    def search(self, **filter: Any) -> Iterator[dict[str, Any]]:
        """All hazards that pass the filter, active or not, page by page; at= asks as of an earlier moment."""
        return self._pages("/hazards", filter, "cursor")

    def count(self, **filter: Any) -> int:
        """How many hazards search would find."""
        return int(self._json("/hazards/count", filter)[0]["count"])

    def hazard(self, hazard: str | int, at: Any = None) -> dict[str, Any]:
        """One hazard, by number or uuid."""
        return self._json(_path("hazards", hazard), {"at": at})[0]

    def products(self, hazard: str | int, at: Any = None) -> Records[dict[str, Any]]:
        """The products of a hazard."""
        return self._list(_path("hazards", hazard, "products"), {"at": at})[0]

    def hazard_changes(self, hazard: str | int, after: int = 0) -> Iterator[dict[str, Any]]:
        """The history of one hazard, oldest change first."""
        return self._pages(_path("hazards", hazard, "changes"), {"after": after}, "after")

    def changes(self, after: int = 0) -> Iterator[dict[str, Any]]:
        """The changes after a number that are there now. Error "reset": there is no such change in this history."""
        return self._pages("/changes", {"after": after}, "after")

    def events(self, after: int | None = None, **filter: Any) -> Iterator[Event]:
        """The changes after a number (None: from now on), as they are made. It goes on for ever: a stream that is cut is opened again where it
        was, and nothing comes twice. An event with reset set says that something was missed: read the lists anew."""
        wait, failures = _FIRST_WAIT, 0
        while True:
            stream = _Stream(after)
            try:
                with self._send("GET", "/events", {**filter, "after": after}, stream=True) as response:
                    failures = 0
                    for event in stream.read(response):
                        yield event
            except Error as e:
                if e.kind not in ("network", "limited", "unavailable", "answer") and e.status < 500:
                    raise
                wait = max(wait, min(e.retry_after, 60.0))
            finally:
                after = stream.number
            pause = min(max(wait, stream.retry) * 2 ** min(failures, 5), _LONGEST_WAIT)
            failures += 1
            time.sleep(pause * (0.75 + random.random() / 2))  # not all readers at once
            wait = _FIRST_WAIT

    def ticket(self, after: int | None = None, **filter: Any) -> dict[str, Any]:
        """A ticket that opens one event stream within a minute, without a token: for a browser."""
        with self._send("POST", "/events/tickets", {**filter, "after": after}) as response:
            return _decode(response)

    # What can be written, by an editor. Fields have the names of the interface. A write that waits for a second person is the error "waits".

    def create_hazard(self, **fields: Any) -> dict[str, Any]:
        """Makes a hazard. Without a uuid it gets one here, so that the same request sent again makes nothing."""
        return self._write("POST", "/hazards", {"uuid": str(uuid.uuid4()), **fields})

    def patch_hazard(self, hazard: str | int, **fields: Any) -> dict[str, Any]:
        """Changes what is named, and leaves the rest; None sets the default."""
        return self._write("PATCH", _path("hazards", hazard), fields)

    def end_hazard(self, hazard: str | int) -> dict[str, Any]:
        """Ends a hazard, as it is over."""
        return self.patch_hazard(hazard, status="E")

    def retract_hazard(self, hazard: str | int, reason: str) -> dict[str, Any]:
        """Withdraws a hazard that was false. All who were told of it get the reason."""
        return self._write("POST", _path("hazards", hazard, "retract"), {"reason": reason})

    def create_product(self, hazard: str | int, **fields: Any) -> dict[str, Any]:
        """Makes a folder, a text or a link of a hazard."""
        return self._write("POST", _path("hazards", hazard, "products"), {"uuid": str(uuid.uuid4()), **fields})

    def patch_product(self, product: str | int, **fields: Any) -> dict[str, Any]:
        """Changes what is named of a product."""
        return self._write("PATCH", _path("products", product), fields)

    def delete_product(self, product: str | int) -> None:
        """Deletes a product; a folder must be empty."""
        with self._send("DELETE", _path("products", product), {}):
            pass

    def logout(self) -> None:
        """Ends the session."""
        with self._turn:
            refresh, self._refresh, self._token = self._refresh, "", ""
        if refresh:
            with self._post("/authorize/revoke", {"refreshToken": refresh}):
                pass

    # How it is read.

    def _json(self, path: str, parameters: dict[str, Any]) -> tuple[Any, Any]:
        with self._send("GET", path, parameters) as response:
            return _decode(response), response.headers

    def _write(self, method: str, path: str, fields: dict[str, Any]) -> dict[str, Any]:
        with self._send(method, path, {}, body=fields) as response:
            if response.status == 202:
                raise Error("waits", "the change waits for a second person: " + (response.headers.get("Location") or ""), 202, "Accepted")
            return _decode(response)

    def _list(self, path: str, parameters: dict[str, Any]) -> tuple[Records[dict[str, Any]], str]:
        items, headers = self._json(path, parameters)
        if not isinstance(items, list):
            raise Error("answer", "the answer is no list")
        records: Records[dict[str, Any]] = Records(items)
        records.change = int(headers.get("Hazardd-Change") or 0)
        records.sources, records.coverage = headers.get("Hazardd-Sources") or "", headers.get("Hazardd-Coverage") or ""
        possible = re.match(r"\d+", headers.get("Hazardd-Possible") or "")
        records.possible = int(possible.group()) if possible else None
        link = re.search(r'<([^>]*)>;[^,]*rel="?next"?', headers.get("Link") or "")
        return records, link.group(1) if link else ""

    def _pages(self, path: str, parameters: dict[str, Any], place: str) -> Iterator[dict[str, Any]]:
        parameters = {"limit": self._page_size, **parameters}
        while True:
            page, link = self._list(path, parameters)
            yield from page
            if not link:
                return
            # The link may lead anywhere: only the place in the list is taken from it.
            at = urllib.parse.parse_qs(urllib.parse.urlsplit(link).query).get(place, [""])[0]
            if not at or at == str(parameters.get(place)):
                raise Error("answer", "the next page does not lead on")
            parameters[place] = at

    def _send(self, method: str, path: str, parameters: dict[str, Any], stream: bool = False, body: Any = None) -> Any:
        query = urllib.parse.urlencode({name: _text(value) for name, value in parameters.items() if value is not None and value != ""})
        url = self._address + self._prefix + path + ("?" + query if query else "")
        refused, until = "", time.monotonic() + self._patience
        while True:
            token = self._access(refused)
            try:
                return self._open(method, url, body, token, _QUIET if stream else self._timeout)
            except Error as e:
                if e.kind == "unauthorized" and token and not refused and self._can_renew():
                    refused = token
                    continue
                if stream or e.retry_after <= 0 or e.kind not in ("limited", "unavailable") or time.monotonic() + e.retry_after > until:
                    raise
                time.sleep(e.retry_after)

    def _open(self, method: str, url: str, body: Any, token: str, timeout: float) -> Any:
        request = urllib.request.Request(url, method=method, data=None if body is None else json.dumps(body).encode())
        request.add_header("User-Agent", self._agent)
        request.add_header("Accept", "application/json, text/event-stream")
        if body is not None:
            request.add_header("Content-Type", "application/json")
        if token:
            request.add_header("Authorization", "Bearer " + token)
        try:
            return self._opener.open(request, timeout=timeout)
        except urllib.error.HTTPError as e:
            with e:
                raise _problem(e) from None
        except (OSError, http.client.HTTPException) as e:
            raise Error("network", str(getattr(e, "reason", e)) or type(e).__name__) from None  # which may hold the address, never a token

    # Tokens.

    def _can_renew(self) -> bool:
        return bool(self._username or self._refresh)

    def _access(self, refused: str) -> str:
        """A token that is not the refused one."""
        if self._prefix:
            return ""
        now = time.monotonic()
        if self._token and self._token != refused and (now < self._renew_at or not self._can_renew()):
            return self._token
        with self._turn:  # one asks the server, the others use the answer
            if self._token and self._token != refused and time.monotonic() < self._renew_at:
                return self._token
            try:
                self._renew()
            except Error:
                if self._token and self._token != refused and time.monotonic() < self._expires_at:  # it still is good
                    self._renew_at = time.monotonic() + 5
                    return self._token
                raise
            return self._token

    def _renew(self) -> None:
        if self._refresh:
            try:
                return self._adopt(lambda: self._post("/authorize/refresh", {"refreshToken": self._refresh}))
            except Error as e:
                if not self._username or e.status >= 500 or e.kind in ("limited", "network"):
                    raise
        if not self._username:
            raise Error("unauthorized", "there is neither a token nor a name and password")
        self._adopt(lambda: self._post("/authorize", {"username": self._username, "password": self._password}))

    def _adopt(self, ask: Any) -> None:
        began = time.monotonic()
        try:
            response = ask()
        except Error as e:
            if e.kind != "network":
                raise
            response = ask()  # a lost answer: the server gives the same pair for some seconds
        with response:
            pair = _decode(response)
        self._token, self._refresh = pair["accessToken"], pair.get("refreshToken") or self._refresh
        life = _life(self._token)
        self._expires_at = began + life
        self._renew_at = began + life - min(60.0, life / 4)

    def _post(self, path: str, body: Any) -> Any:
        return self._open("POST", self._address + path, body, "", self._timeout)


class _Stream:
    """Reads server-sent events (HTML standard, section 9.2.6), and knows where the stream is."""

    def __init__(self, number: int | None) -> None:
        self.number, self.retry = number, 0.0

    def read(self, response: Any) -> Iterator[Event]:
        kind, data, last, size = "", [], "", 0
        while True:
            try:
                line = response.readline(_MAX_EVENT + 1)
            except (OSError, http.client.HTTPException) as e:
                raise Error("network", str(e) or type(e).__name__) from None
            if not line.endswith(b"\n"):
                return  # the stream was cut, maybe in the middle of an event
            size += len(line)
            if size > _MAX_EVENT:
                raise Error("answer", "an event is too large")
            name, _, value = line.rstrip(b"\r\n").decode("utf-8", "replace").partition(":")
            value = value.removeprefix(" ")
            if name == "event":
                kind = value
            elif name == "data":
                data.append(value)
            elif name == "id":
                last = value
            elif name == "retry" and value.isdigit():
                self.retry = min(int(value) / 1000, _LONGEST_WAIT)
            if line not in (b"\n", b"\r\n"):
                continue
            number = int(last) if last.isdigit() else self.number
            if data:
                try:
                    body = json.loads("\n".join(data))
                except ValueError:
                    raise Error("answer", "an event is no JSON") from None
                # Told before it counts: who stops in between is told again.
                yield Event(number or 0, kind, body, str(body.get("reason") or "reset") if kind == "reset" else "")
            self.number = number
            kind, data, last, size = "", [], "", 0


def _path(*parts: Any) -> str:
    texts = [str(part) for part in parts]
    if any(text in ("", ".", "..") for text in texts):
        raise Error("invalid", "a name is empty; expected a uuid or a number")
    return "".join("/" + urllib.parse.quote(text, safe="") for text in texts)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime.datetime):
        if value.tzinfo is None:
            raise Error("invalid", "a moment without a time zone")
        return value.astimezone(datetime.timezone.utc).isoformat().replace("+00:00", "Z")
    if isinstance(value, (list, tuple)):
        return ",".join(_text(one) for one in value)
    return str(value)


def _decode(response: Any) -> Any:
    try:
        text = response.read(_MAX_BODY + 1)
    except (OSError, http.client.HTTPException) as e:
        raise Error("network", f"the answer broke off: {e}") from None
    if len(text) > _MAX_BODY:
        raise Error("answer", "the answer is too large")
    try:
        return json.loads(text)
    except ValueError:
        raise Error("answer", "the answer is no JSON") from None


def _problem(e: urllib.error.HTTPError) -> Error:
    try:
        text = e.read(64 << 10)
    except (OSError, http.client.HTTPException):
        text = b""
    media = (e.headers.get("Content-Type") or "").partition(";")[0]
    kind, body = _KINDS.get(e.code, "answer"), {}
    if media.endswith("json"):
        try:
            body = json.loads(text)
        except ValueError:
            pass
    if not isinstance(body, dict):
        body = {}
    if not body and media == "text/plain":
        body = {"detail": text.decode("utf-8", "replace")}
    if e.code == 401 and e.headers.get("Hazardd-Second-Factor"):
        body = {"detail": "the account has a second factor, which a program cannot give; use a token of a service (hazardd token NAME --service)"}
    if e.code == 403 and media != "application/problem+json":
        kind = "unauthorized"  # the base interface says so of a token
    return Error(kind, _line(body.get("detail")), e.code, _line(body.get("title") or http.client.responses.get(e.code, "")), body.get("errors"), _retry_after(e.headers.get("Retry-After")))


def _line(text: Any) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in str(text or "")).split())[:300]


def _retry_after(value: str | None) -> float:
    if value and value.strip().isdigit():
        return float(min(int(value), 86400))
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value or "").timestamp() - time.time())
    except (ValueError, TypeError):
        return 0.0


def _life(token: str) -> float:
    """For how many seconds a token is good from its issue on; its signature is the server's business."""
    try:
        body = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
        return max(1.0, float(claims["exp"] - claims["iat"]) - 1)
    except (ValueError, KeyError, IndexError, TypeError):
        return float("inf")
