"""A crawl frontier of Decorum: URLs go in and outcomes come out, over the console's HTTP API. Standard library only."""
import base64
import json
import logging
import time
import urllib.error
import urllib.parse
import urllib.request


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """urllib would send the login along, to whichever host the answer names."""

    def redirect_request(self, *_):
        return None


_OPENER = urllib.request.build_opener(_NoRedirects)
_LOG = logging.getLogger("decorum_frontier")

_NEEDS_LOGIN = (
    "needs a login, or another one: it is 'decorum:' and the password (LOGIN in the examples), "
    "which is CONSOLE_PASSWORD of the console, or in the file that 'decorum up' names"
)


class Wrong(Exception):
    """The console refuses what was asked: asking again will not help."""


class Frontier:
    """`group`: who reads; each frontier needs one of its own. `consumer`: each process of a frontier needs one of its own that stays the same."""

    def __init__(self, console="http://127.0.0.1:7070", login="", group="python-frontier", consumer="one", at_once=100):
        self.console, self.at_once, self.who = console, at_once, {"group": group, "consumer": consumer}
        self.login = "Basic " + base64.b64encode(login.encode()).decode() if login else None

    def enqueue(self, candidates):
        """Stores at most `at_once` URLs, or candidates (docs/frontier.md), in one request. Sent again before its outcome, one with an `id` is not fetched twice."""
        lines = [json.dumps(one if isinstance(one, dict) else {"url": one}) for one in candidates]
        return self.call("POST", "/v1/candidates", "\n".join(lines).encode(), "application/x-ndjson")["count"]

    def read(self, wait_ms=20_000):
        """The next deliveries, each with its `outcome`; [] where none came in time. Those that are not acknowledged come again."""
        question = urllib.parse.urlencode({**self.who, "max": self.at_once, "waitMs": wait_ms})
        return self.call("GET", f"/v1/outcomes?{question}")["outcomes"]

    def acknowledge(self, deliveries):
        """What they led to is on the disk. To be called before the next ones are read."""
        if deliveries:
            ids = [one["id"] for one in deliveries]
            self.call("POST", "/v1/outcomes/ack", json.dumps({**self.who, "ids": ids}).encode())

    def call(self, method, path, body=None, content_type="application/json"):
        """Asks the console until it answers, so a request whose answer was lost is made twice. A wait is logged once, as a warning."""
        headers = {"accept": "application/json", "content-type": content_type}
        if self.login:
            headers["authorization"] = self.login
        waits = False
        while True:
            request = urllib.request.Request(self.console + path, data=body, headers=headers, method=method)
            try:
                with _OPENER.open(request, timeout=60) as answer:
                    return json.load(answer)
            except urllib.error.HTTPError as error:
                if error.code == 401:
                    raise Wrong(f"{self.console} {_NEEDS_LOGIN}") from None
                if error.code not in (429, 503):
                    raise Wrong(f"{method} {path}: {error.code} {error.read().decode()}") from None
                failure = error
            except (OSError, json.JSONDecodeError) as error:
                failure = error  # the console is being started again, or the answer was cut off
            if not waits:
                _LOG.warning("%s: %s; asking again every second until it answers", self.console, getattr(failure, "reason", failure))
            waits = True
            time.sleep(1)
