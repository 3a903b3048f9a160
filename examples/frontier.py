#!/usr/bin/env python3
"""A crawl frontier of the standard library alone: URLs go in and outcomes come out over the console's HTTP API.

    CONSOLE=http://127.0.0.1:7070 LOGIN=decorum:password python3 frontier.py urls.txt done.ndjson

It ends when every URL of the list has its outcome, which is a line of done.ndjson. It may be killed at any moment and started
again with the same files: an outcome is acknowledged only when it is on the disk, so what was not written comes again. What was
written and not acknowledged comes again too; it is known by its id and not written a second time.
"""
import base64
import json
import os
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

CONSOLE = os.environ.get("CONSOLE", "http://127.0.0.1:7070")
LOGIN = os.environ.get("LOGIN", "")
# Who reads. Each frontier needs a group of its own; each process of one frontier a consumer of its own that stays the same.
GROUP = os.environ.get("GROUP", "python-frontier")
CONSUMER = os.environ.get("CONSUMER", "one")
AT_ONCE = 100
WAIT_MS = 20_000


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """urllib would send the login along, to whichever host the answer names."""

    def redirect_request(self, *_):
        return None


opener = urllib.request.build_opener(NoRedirects)


def call(method, path, body=None, content_type="application/json"):
    """Asks the console until it answers. Everything that is asked here may be asked again safely."""
    headers = {"accept": "application/json", "content-type": content_type}
    if LOGIN:
        headers["authorization"] = "Basic " + base64.b64encode(LOGIN.encode()).decode()
    while True:
        request = urllib.request.Request(CONSOLE + path, data=body, headers=headers, method=method)
        try:
            with opener.open(request, timeout=WAIT_MS / 1000 + 30) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            if error.code not in (429, 503):
                sys.exit(f"{method} {path}: {error.code} {error.read().decode()}")
        except (OSError, json.JSONDecodeError):
            pass  # the console is being started again, or the answer was cut off
        time.sleep(1)


def read_lines(path):
    """Whole lines only: the last one may have been cut off by a kill, and is written again."""
    if not os.path.exists(path):
        return []
    with open(path, "r+b") as file:
        text = file.read()
        whole = text.rfind(b"\n") + 1
        file.truncate(whole)
    return text[:whole].decode().splitlines()


def append(file, lines):
    """Returns when they are on the disk."""
    file.write("".join(line + "\n" for line in lines))
    file.flush()
    os.fsync(file.fileno())


def enqueue(urls, sent_path):
    """Sends what has not been sent. A part that was sent just before a kill is sent again: what of it still waits is absorbed by
    its id, and what was fetched in between is fetched once more."""
    sent = sum(int(line) for line in read_lines(sent_path))
    with open(sent_path, "a", encoding="utf-8") as file:
        for at in range(sent, len(urls), AT_ONCE):
            part = urls[at : at + AT_ONCE]
            candidates = [{"url": url, "id": f"{GROUP}-{at + n}"} for n, url in enumerate(part)]
            body = "\n".join(json.dumps(one) for one in candidates).encode()
            call("POST", "/v1/candidates", body, "application/x-ndjson")
            append(file, [str(len(part))])


def main(urls_path, done_path):
    with open(urls_path, encoding="utf-8") as file:
        urls = [line.strip() for line in file if line.strip()]
    waiting = {f"{GROUP}-{n}" for n in range(len(urls))}
    done = set()

    def note(outcome):
        """A redirect's target is a candidate of its own, whose outcome is waited for as well."""
        done.add(outcome["id"])
        waiting.discard(outcome["id"])
        if outcome["kind"] == "redirected" and outcome["candidate"] not in done:
            waiting.add(outcome["candidate"])

    for line in read_lines(done_path):
        note(json.loads(line))
    enqueue(urls, done_path + ".sent")
    who = {"group": GROUP, "consumer": CONSUMER}
    question = urllib.parse.urlencode({**who, "max": AT_ONCE, "waitMs": WAIT_MS})
    with open(done_path, "a", encoding="utf-8") as file:
        while waiting:
            deliveries = call("GET", f"/v1/outcomes?{question}")["outcomes"]
            outcomes = [one["outcome"] for one in deliveries]
            # Of other frontiers that use the same crawl, and what was written before a kill: only acknowledged
            new = {one["id"]: one for one in outcomes if one["id"].startswith(GROUP + "-") and one["id"] not in done}
            append(file, [json.dumps(one) for one in new.values()])
            for outcome in new.values():
                note(outcome)
            ids = [one["id"] for one in deliveries]
            if ids:
                call("POST", "/v1/outcomes/ack", json.dumps({**who, "ids": ids}).encode())
            print(f"{len(done)} done, {len(waiting)} waiting", flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
