"""A Scrapy downloader middleware: no request leaves without a permit of Decorum. See README.md for the settings."""
import json
import time

from scrapy import signals
from scrapy.exceptions import IgnoreRequest, NotConfigured
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet import defer, task
from twisted.web.client import Agent, HTTPConnectionPool, readBody
from twisted.web.http_headers import Headers

KEY = "decorum_permit"


class BytesProducer:
    """A request body in one piece."""

    def __init__(self, body):
        self.body, self.length = body, len(body)

    def startProducing(self, consumer):
        consumer.write(self.body)
        return defer.succeed(None)

    def pauseProducing(self):
        pass

    stopProducing = resumeProducing = pauseProducing


class DecorumMiddleware:
    def __init__(self, settings, stats):
        if not settings.getbool("DECORUM_ENABLED", True):
            raise NotConfigured
        self.url = settings.get("DECORUM_URL", "http://127.0.0.1:7071").encode()
        self.agent = settings.get("DECORUM_AGENT")
        self.token = settings.get("DECORUM_TOKEN")
        self.patience = settings.getfloat("DECORUM_PATIENCE", 600.0)
        self.shadow = settings.getbool("DECORUM_SHADOW")
        self.stats = stats
        from twisted.internet import reactor  # only now: Scrapy chooses which one it is

        self.reactor = reactor
        pool = HTTPConnectionPool(reactor)
        pool.maxPersistentPerHost = 100
        self.http = Agent(reactor, pool=pool)

    @classmethod
    def from_crawler(cls, crawler):
        settings = crawler.settings
        wrong = [name for name in ("ROBOTSTXT_OBEY", "AUTOTHROTTLE_ENABLED") if settings.getbool(name)]
        if settings.getfloat("DOWNLOAD_DELAY"):
            wrong.append("DOWNLOAD_DELAY")  # the permit would expire in the slot
        if wrong and not settings.getbool("DECORUM_SHADOW"):
            raise ValueError("with Decorum these settings are off: " + ", ".join(wrong))
        self = cls(settings, crawler.stats)
        crawler.signals.connect(self.left, signal=signals.request_left_downloader)
        crawler.signals.connect(self.downloaded, signal=signals.response_downloaded)
        return self

    @defer.inlineCallbacks
    def call(self, method, path, body=None):
        headers = {"content-type": ["application/json"]}
        if self.token:
            headers["authorization"] = ["Bearer " + self.token]
        data = BytesProducer(json.dumps(body or {}).encode())
        try:
            answer = yield self.http.request(method, self.url + path.encode(), Headers(headers), data)
            text = yield readBody(answer)
            return answer.code, json.loads(text or b"{}")
        except Exception as error:  # twisted wraps what went wrong in classes of its own
            return 0, {"detail": repr(error)}

    async def process_request(self, request, spider=None):
        if not request.url.startswith(("http:", "https:")):
            return None
        wish = {"url": request.url, **({"agent": self.agent} if self.agent else {})}
        if self.shadow:  # nothing waits, not even for a service that is away: it records what would have waited
            asked = self.call(b"POST", "/v1/permits", {**wish, "shadow": True}).addTimeout(1.0, self.reactor)
            status, body = await maybe_deferred_to_future(asked.addErrback(lambda _: (0, {})))
            if status == 201:
                request.meta[KEY] = {"permit": body["permit"], "said": {"error": "no response"}}
            return None
        until = time.monotonic() + self.patience
        while True:
            left = max(0.0, until - time.monotonic())
            wish["waitMs"] = int(min(left, 30.0) * 1000)
            status, body = await maybe_deferred_to_future(self.call(b"POST", "/v1/permits", wish))
            if status == 201:
                break
            if left == 0 or not (status in (0, 200, 429) or status >= 500):
                self.stats.inc_value("decorum/" + str(body.get("type", "no-turn")))
                raise IgnoreRequest("Decorum: " + str(body.get("detail", body.get("gate"))))
            pause = min(left, 5.0, body.get("retryAfterMs", 1000) / 1000)
            await maybe_deferred_to_future(task.deferLater(self.reactor, pause, lambda: None))
        self.stats.inc_value("decorum/granted")
        own = request.meta.get("download_timeout")
        request.meta[KEY] = {"permit": body["permit"], "said": {"error": "no response"}, "timeout": own}
        # Scrapy closes the connection then, whether or not the site sends. What remains of the lease is for the way to the connection.
        most = (body["leaseMs"] - body["sendWithinMs"]) / 1000
        request.meta["download_timeout"] = min(own or most, most)
        request.headers[b"User-Agent"] = body["userAgent"].encode()
        return None

    def downloaded(self, response, request, spider):
        held = request.meta.get(KEY)
        if held is not None:
            held["said"] = {"status": response.status}
            retry_after = response.headers.get(b"Retry-After")
            if retry_after:
                held["said"]["retryAfter"] = retry_after.decode("latin-1")

    def left(self, request, spider):
        """After the last byte, or the failure: the delay starts here. A copy of the request asks for itself."""
        held = request.meta.pop(KEY, None)
        if held is not None:
            if "timeout" in held:
                request.meta["download_timeout"] = held["timeout"]  # its retry has a lease of its own
            self.call(b"POST", "/v1/permits/%s/completion" % held["permit"], held["said"])
