"""No request without a permit of Decorum: `with permit(url) as p: ...`. Standard library only."""
import contextlib
import json
import socket
import sys
import threading
import time
import urllib.error
import urllib.request


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """urllib would send the token along, to whichever host the answer names."""

    def redirect_request(self, *_):
        return None


_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirects)  # the crawler's proxy is not for this


class Refused(Exception):
    """robots.txt or an operator forbids the URL: asking again will not help. `problem` is the whole answer."""

    def __init__(self, problem):
        super().__init__(problem.get("detail") or problem.get("type"))
        self.problem = problem


class Lost(ConnectionError):
    """The permit is not held any more, or an extension was not answered until the lease was over: the connection was closed."""


class Lease:
    """Extends a permit until `over` is set. Calls `lost(why)`, once, when it may not be held any more: close the connection then."""

    def __init__(self, permits, held, lost):
        self.permits, self.path, self.lost = permits, "/v1/permits/" + held["permit"], lost
        self.lease, self.until = held["leaseMs"] / 1000, time.monotonic() + held["leaseMs"] / 1000
        self.next, self.over, self.refusal = self.until - self.lease * 2 / 3, threading.Event(), None
        threading.Thread(target=self._keep, daemon=True).start()

    def _keep(self):
        while not self.over.wait(max(0.0, min(self.next, self.until) - time.monotonic())):
            now = time.monotonic()
            if self.refusal or now >= self.until:
                return self.lost(self.refusal or "the permit could not be extended in time")
            if now >= self.next:  # beside this thread, which is there when the lease is over, whatever becomes of the question
                self.next = now + self.lease / 3
                threading.Thread(target=self._extend, args=(now,), daemon=True).start()

    def _extend(self, asked):
        status, body = self.permits.call("PATCH", self.path, {}, timeout=self.lease / 3)
        if status == 200 and "stop" not in body:  # it counts from the question, since the answer may have lain unread
            self.until = max(self.until, asked + body.get("leaseMs", self.lease * 1000) / 1000)
        elif status == 200 or (400 <= status < 500 and status != 429):
            self.refusal = "the request is to be ended" if status == 200 else "the permit is not held any more"


def _hang_up(thread, block):
    """
    Shuts down the connections that the block of this thread uses: those of the calls that it waits in, and those of answers in its own
    variables. No library has a way to do so from another thread while the head of an answer is awaited.
    """
    frame, found = sys._current_frames().get(thread), set()
    while frame is not None:
        found.update(_sockets(frame.f_locals.values()))
        if frame is block:
            break
        frame = frame.f_back
    else:
        return  # the block has just been left
    for one in found:
        try:
            socket.socket.shutdown(one, socket.SHUT_RDWR)
        except OSError:
            pass


# From an answer of urllib, http.client, requests or httpx, or from what reads one, to its socket.
_WAYS = ("sock", "_sock", "raw", "_raw", "fp", "_fp", "_connection", "_original_response")


def _sockets(values):
    left, seen = list(values), set()
    while left and len(seen) < 10_000:
        value = left.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, socket.socket):
            yield value
            continue
        for name in _WAYS:
            try:
                left.append(getattr(value, name))
            except Exception:  # it has none, or its property does not work at this moment
                pass


class Permits:
    def __init__(self, url="http://127.0.0.1:7071", agent=None, token=None, patience=600.0, shadow=False):
        self.url, self.agent, self.token, self.patience, self.shadow = url, agent, token, patience, shadow

    def call(self, method, path, body=None, timeout=75.0):
        headers = {"content-type": "application/json"} if body is not None else {}
        if self.token:
            headers["authorization"] = "Bearer " + self.token
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            with _DIRECT.open(request, timeout=timeout) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            try:
                return error.code, json.load(error)
            except ValueError:  # not from the service
                return error.code, {"detail": "%s answered %d" % (self.url, error.code)}
        except OSError:
            return 0, {}

    def ask(self, url):
        """Waits for the URL's turn. Raises Refused where it will never come, or not within `patience` seconds."""
        wish = {"url": url, **({"agent": self.agent} if self.agent else {})}
        if self.shadow:  # nothing waits, not even for a service that is away: it records what would have waited
            status, body = self.call("POST", "/v1/permits", {**wish, "shadow": True}, timeout=1.0)
            return body if status == 201 else {}
        until = time.monotonic() + self.patience
        while True:
            left = max(0.0, until - time.monotonic())
            status, body = self.call("POST", "/v1/permits", {**wish, "waitMs": int(min(left, 30) * 1000)})
            if status == 201:
                return body
            if left == 0 or not (status in (0, 200, 429) or status >= 500):
                raise Refused(body)
            time.sleep(min(left, 5, body.get("retryAfterMs", 1000) / 1000))

    @contextlib.contextmanager
    def permit(self, url):
        """
        Yields a dict: send `userAgent`; before leaving the block read the body and set `status` and `retryAfter`. The permit is extended
        until the block is left. Raises Lost at its end where that failed: the connection was closed.
        """
        held = self.ask(url)
        said, why, thread = {}, [], threading.get_ident()
        block = sys._getframe(1)
        while block.f_code.co_filename == contextlib.__file__:
            block = block.f_back

        def lost(reason):
            why.append(reason)
            while True:  # until the block is left: it may open another connection
                _hang_up(thread, block)
                if lease.over.wait(0.01):
                    return

        lease = Lease(self, held, lost) if "permit" in held and not self.shadow else None
        try:
            yield Held(held, said)
            if why:
                raise Lost(why[0])
        except BaseException as error:
            if why:
                raise Lost(why[0]) from error
            said.setdefault("error", type(error).__name__)
            raise
        finally:
            if lease:
                lease.over.set()
            if "permit" in held:
                self.call("POST", "/v1/permits/%s/completion" % held["permit"], said)


class Held(dict):
    """What was granted. `done(status, headers)` says what the site answered."""

    def __init__(self, held, said):
        super().__init__(held)
        self._said = said

    def done(self, status, headers=None):
        retry_after = (headers or {}).get("Retry-After")
        self._said.update({"status": status}, **({"retryAfter": retry_after} if retry_after else {}))
