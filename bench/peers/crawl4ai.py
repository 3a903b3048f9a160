"""
crawl4ai with its HTTP strategy, without a browser. Bare: check_robots_txt, and a RateLimiter with the delay.
https://docs.crawl4ai.com/advanced/multi-url-crawling/ · https://docs.crawl4ai.com/api/parameters/
Behind a proxy: proxy_config, no delay of its own, and check_robots_txt off, because robots.txt is fetched past the proxy.
Usage: crawl4ai.py FILE-OF-URLS, with PEER_DELAY_MS
"""
import asyncio
import os
import sys

from crawl4ai import AsyncWebCrawler, CacheMode, CrawlerRunConfig, HTTPCrawlerConfig, ProxyConfig, RateLimiter, SemaphoreDispatcher
from crawl4ai.async_crawler_strategy import AsyncHTTPCrawlerStrategy

PROXY = os.environ.get("http_proxy")
DELAY_S = int(os.environ["PEER_DELAY_MS"]) / 1000


async def main():
    with open(sys.argv[1]) as file:
        urls = file.read().split()
    strategy = AsyncHTTPCrawlerStrategy(HTTPCrawlerConfig(headers={"User-Agent": "peerbot/1 (+https://example.com/bot)"}))
    config = CrawlerRunConfig(
        cache_mode=CacheMode.BYPASS,
        check_robots_txt=PROXY is None,
        proxy_config=ProxyConfig(server=PROXY) if PROXY else None,
        verbose=False,
    )
    limiter = None if PROXY else RateLimiter(base_delay=(DELAY_S, DELAY_S))
    async with AsyncWebCrawler(crawler_strategy=strategy, verbose=False) as crawler:
        await crawler.arun_many(urls, config=config, dispatcher=SemaphoreDispatcher(rate_limiter=limiter))


asyncio.run(main())
