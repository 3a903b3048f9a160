"""A worker of a pool, standard library only: takes orders, fetches each, says what became of it. worker.py PERMITS-URL POOL [AT-ONCE]"""
import base64
import http.client
import os
import signal
import socket
import ssl
import sys
import threading
import time
import urllib.parse
import zlib

from decorum_permits import Lease, Permits

DEADLINE_S = float(os.environ.get("DEADLINE_S", "30"))
REASONS = (
    (socket.gaierror, "dns"),
    (ssl.SSLError, "tls"),
    (TimeoutError, "timeout"),
    (ConnectionRefusedError, "connect"),
    (ConnectionError, "reset"),  # before HTTPException: a connection that closes without an answer is both
    (http.client.HTTPException, "protocol"),
)
stopping = threading.Event()


class Exchange:
    """One request. Its permit is extended; the connection is closed at its deadline, or when the permit is not surely held any more."""

    def __init__(self, permits, order):
        self.permits, self.order = permits, order
        self.path = "/v1/permits/%s" % order["permit"]
        self.why = self.sock = None
        at = urllib.parse.urlsplit(order["url"])
        kind = http.client.HTTPSConnection if at.scheme == "https" else http.client.HTTPConnection
        self.connection = kind(at.hostname, at.port, timeout=DEADLINE_S)
        self.target = at.path + ("?" + at.query if at.query else "")

    def hang_up(self, why):
        self.why = self.why or why
        if self.sock is not None:
            try:
                self.sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def run(self):
        deadline = threading.Timer(min(DEADLINE_S, self.order.get("deadlineMs", 1e9) / 1000), self.hang_up, ("timeout",))
        deadline.daemon, lease = True, None
        try:
            self.connection.connect()
            self.sock = self.connection.sock  # which the connection forgets where the site says that it closes it
            status, body = self.permits.call("PATCH", self.path, {}, timeout=5)  # connecting may have taken its time
            if status != 200 or "stop" in body:
                return None  # nothing was sent
            lease = Lease(self.permits, self.order, lambda _: self.hang_up("reset"))
            deadline.start()
            self.connection.putrequest(self.order["method"], self.target, skip_accept_encoding=True)
            for name, value in self.order["headers"]:
                self.connection.putheader(name, value)
            self.connection.endheaders()
            return self.read(self.connection.getresponse())
        except Exception as error:
            reason = self.why or next((word for kind, word in REASONS if isinstance(error, kind)), "reset")
            return {"reason": reason, "error": "%s: %s" % (type(error).__name__, error)}
        finally:
            deadline.cancel()
            if lease:
                lease.over.set()
            self.connection.close()

    def read(self, answer):
        most, chunks, size, truncated = self.order["maxBytes"], [], 0, ""
        try:
            while chunk := answer.read1(65536):
                chunks.append(chunk)
                size += len(chunk)
                if size > most:
                    truncated = "length"
                    break
            else:
                if answer.length or self.why:  # fewer bytes than were announced, or closed from here
                    truncated = "disconnect"
        except (OSError, http.client.HTTPException):
            if self.why:
                raise
            truncated = "disconnect"
        body = b"".join(chunks)[:most]
        if answer.getheader("content-encoding", "").lower() == "gzip":
            body = zlib.decompressobj(47).decompress(body, most)  # the body goes without content coding
        said = {"status": answer.status, "headers": [[k, v] for k, v in answer.getheaders()], "truncated": truncated}
        return {**said, "bytes": min(size, most), "body": base64.b64encode(body).decode()}


def carry_out(permits, order, taken):
    late = time.monotonic() - taken > order["sendWithinMs"] / 1000
    said = None if late else Exchange(permits, order).run()
    path = "/v1/permits/%s" % order["permit"]
    until = time.monotonic() + order["leaseMs"] / 1000
    while True:
        if said is None:
            status, problem = permits.call("DELETE", path)
        else:
            status, problem = permits.call("POST", path + "/completion", said)
        if status == 400:  # this answer cannot be told: the URL ends all the same
            said = {"reason": "protocol", "error": problem.get("detail", "")[:500]}
        elif status in (200, 404, 410) or time.monotonic() > until:  # held no longer: somebody else tries again
            return
        else:
            time.sleep(0.25)


def work(permits, pool):
    while not stopping.is_set():
        status, body = permits.call("POST", "/v1/pools/%s/orders?waitMs=2000" % pool)
        taken = time.monotonic()
        for order in body.get("orders", ()):
            carry_out(permits, order, taken)
        if status != 200:
            stopping.wait(0.5)


if __name__ == "__main__":
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    url, pool, at_once = sys.argv[1], sys.argv[2], int((sys.argv[3:] or ["4"])[0])
    threads = [threading.Thread(target=work, args=(Permits(url, token=os.environ.get("TOKEN")), pool)) for _ in range(at_once)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
