"""The lines of integrations/python/README.md, with urllib in 256 threads: python.py PERMITS-URL FILE-OF-URLS INTEGRATIONS"""
import sys
import urllib.request
from concurrent.futures import ThreadPoolExecutor

sys.path.append(sys.argv[3] + "/python")
from decorum_permits import Permits

permits = Permits(sys.argv[1])


def fetch(url):
    with permits.permit(url) as held:
        request = urllib.request.Request(url, headers={"User-Agent": held["userAgent"]})
        with urllib.request.urlopen(request) as answer:
            answer.read()
            held.done(answer.status, answer.headers)


with open(sys.argv[2]) as file:
    URLS = file.read().split()
with ThreadPoolExecutor(256) as pool:
    list(pool.map(fetch, URLS))
