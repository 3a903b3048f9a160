"""No request without a permit of Decorum: `with permit(url) as p: ...`. Standard library only."""
import contextlib
import json
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
        """Yields a dict: send `userAgent`; before leaving the block read the body and set `status` and `retryAfter`."""
        held = self.ask(url)
        said = {}
        try:
            yield Held(held, said)
        except BaseException as error:
            said.setdefault("error", type(error).__name__)
            raise
        finally:
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
