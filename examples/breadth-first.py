# A breadth-first crawl of the hosts of some URLs, over the console's HTTP API, with the standard library alone:
# CONSOLE=http://127.0.0.1:7070 LOGIN=decorum:password python3 breadth-first.py https://example.org/ …
import base64, contextlib, json, os, sys, time, urllib.error, urllib.parse, urllib.request
from html.parser import HTMLParser

CONSOLE, LOGIN = os.environ.get("CONSOLE", "http://127.0.0.1:7070"), os.environ.get("LOGIN")
MOST, RUN = 1000, f"breadth-first-{int(time.time() * 1000)}"


class Links(HTMLParser):
    def __init__(self, url):
        super().__init__()
        self.base, self.found = url, []

    def handle_starttag(self, tag, attrs):
        href, rel = dict(attrs).get("href"), dict(attrs).get("rel") or ""
        with contextlib.suppress(ValueError):  # an address that cannot be read
            if tag == "base" and href:
                self.base = urllib.parse.urljoin(self.base, href)
            if tag == "a" and href and "nofollow" not in rel.lower().split():
                self.found.append(urllib.parse.urldefrag(urllib.parse.urljoin(self.base, href))[0])


class NoRedirects(urllib.request.HTTPRedirectHandler):  # urllib would send the login along, to whichever host
    def redirect_request(self, *_):
        return None


def ask(path, body=None, content_type="application/json", method=None):
    login = {"authorization": "Basic " + base64.b64encode(LOGIN.encode()).decode()} if LOGIN else {}
    headers = {"accept": "application/json", **({"content-type": content_type} if body else {}), **login}
    try:
        return opener.open(urllib.request.Request(CONSOLE + path, body, headers, method=method), timeout=60).read()
    except urllib.error.HTTPError as error:
        if error.code == 401:
            sys.exit(f"{CONSOLE} needs LOGIN=decorum:PASSWORD: its CONSOLE_PASSWORD, or in the file that 'decorum up' names")
        raise


def links_of(outcome):
    ref, says = outcome.get("archive", {}).get("ref"), outcome.get("says", {})
    if outcome.get("status") != 200 or not ref or "nofollow" in says.get("robots", []):
        return []
    links, query = Links(outcome["url"]), urllib.parse.urlencode({"ref": ref, "as": "body"})
    try:
        links.feed(ask("/v1/content?" + query).decode(says.get("charset", "utf-8"), "replace"))
    except (urllib.error.HTTPError, LookupError) as error:
        print(f"{outcome['url']}: {error}", file=sys.stderr)  # a body that cannot be read
    return links.found


def add(urls, depth):
    fresh = [url for url in dict.fromkeys(urls) if urllib.parse.urlsplit(url).netloc in hosts and url not in seen]
    lines = [json.dumps({"url": url, "meta": {"run": RUN, "depth": depth}}) for url in fresh[: MOST - len(seen)]]
    seen.update(fresh[: MOST - len(seen)])
    if lines:
        ask("/v1/candidates", "\n".join(lines).encode(), "application/x-ndjson")
    return len(lines)


opener = urllib.request.build_opener(NoRedirects)
seen, hosts = set(), {urllib.parse.urlsplit(url).netloc for url in sys.argv[1:]}
left = add(sys.argv[1:], 0)
while left > 0:
    deliveries = json.loads(ask(f"/v1/outcomes?group={RUN}&max=100&waitMs=20000"))["outcomes"]
    for outcome in [one["outcome"] for one in deliveries if one["outcome"].get("meta", {}).get("run") == RUN]:
        print(json.dumps({"kind": outcome["kind"], "url": outcome["url"], **outcome["meta"]}), flush=True)
        left += add(links_of(outcome), outcome["meta"]["depth"] + 1) - (outcome["kind"] != "redirected")
    ask("/v1/outcomes/ack", json.dumps({"group": RUN, "ids": [one["id"] for one in deliveries]}).encode())
ask(f"/v1/readers/{RUN}?force=true", method="DELETE")
