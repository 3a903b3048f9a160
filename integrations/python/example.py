"""Fetches each URL in its turn, many at once: example.py PERMITS-URL|bare URL..."""
import contextlib
import os
import sys
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

from decorum_permits import Held, Permits, Refused

USER_AGENT = "journeybot/1 (+https://example.com/bot)"
permits = None if sys.argv[1] == "bare" else Permits(sys.argv[1], patience=float(os.environ.get("PATIENCE_S", "12")))


def fetch(url):
    bare = contextlib.nullcontext(Held({"userAgent": USER_AGENT}, {}))
    try:
        with permits.permit(url) if permits else bare as held:
            request = urllib.request.Request(url, headers={"User-Agent": held["userAgent"]})
            try:
                with urllib.request.urlopen(request) as answer:
                    answer.read()
                    status, headers = answer.status, answer.headers
            except urllib.error.HTTPError as answer:
                answer.read()
                status, headers = answer.code, answer.headers
            held.done(status, headers)
            print("%d %s\n" % (status, url), end="", flush=True)
    except Refused as error:
        print("%s %s\n" % (error.problem.get("type", "no-turn"), url), end="", flush=True)


with ThreadPoolExecutor(256) as pool:  # a URL that waits for its turn holds a thread
    list(pool.map(fetch, sys.argv[2:]))
