"""
A loop over aiohttp, as many teams have one: urllib.robotparser, a lock and a delay for each site.
https://docs.aiohttp.org/en/stable/client_advanced.html#proxy-support · https://docs.python.org/3/library/urllib.robotparser.html
Behind a proxy: without a delay of its own; `trust_env` reads http_proxy and https_proxy.
Usage: aiohttp.py FILE-OF-URLS, with PEER_DELAY_MS
"""
import asyncio
import os
import sys
from urllib.parse import urlsplit
from urllib.robotparser import RobotFileParser

import aiohttp

USER_AGENT = "peerbot/1 (+https://example.com/bot)"
DELAY_S = 0 if "http_proxy" in os.environ else int(os.environ["PEER_DELAY_MS"]) / 1000


async def get(session, url):
    async with session.get(url) as answer:
        return answer.status, await answer.text()


async def visit(session, origin, urls):
    """One request at a time at a site, and its delay behind each."""
    rules = RobotFileParser()
    status, text = await get(session, origin + "/robots.txt")
    if status == 200:
        rules.parse(text.splitlines())
    else:
        rules.allow_all = 400 <= status < 500
    delay = 0 if DELAY_S == 0 else max(DELAY_S, float(rules.crawl_delay(USER_AGENT) or 0))
    for url in urls:
        if rules.allow_all or rules.can_fetch(USER_AGENT, url):
            await asyncio.sleep(delay)
            await get(session, url)


async def main():
    sites = {}
    with open(sys.argv[1]) as file:
        for url in file.read().split():
            parts = urlsplit(url)
            sites.setdefault(f"{parts.scheme}://{parts.netloc}", []).append(url)
    async with aiohttp.ClientSession(trust_env=True, headers={"User-Agent": USER_AGENT}) as session:
        await asyncio.gather(*(visit(session, *site) for site in sites.items()), return_exceptions=True)


asyncio.run(main())
