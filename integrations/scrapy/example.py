"""Fetches URLs with Scrapy, with or without Decorum: example.py PERMITS-URL|shadow:PERMITS-URL|bare REACTOR|- URL..."""
import os
import sys

import scrapy
from scrapy.crawler import CrawlerProcess

permits, reactor, *urls = sys.argv[1:]


class Spider(scrapy.Spider):
    name = "example"
    start_urls = urls

    def parse(self, response):
        print(response.status, response.url, flush=True)


settings = {"LOG_LEVEL": "ERROR", "CONCURRENT_REQUESTS": 1000, "USER_AGENT": "journeybot/1 (+https://example.com/bot)", "TELNETCONSOLE_ENABLED": False}
MIDDLEWARE = {"decorum_scrapy.DecorumMiddleware": 950}
if permits == "bare" or permits.startswith("shadow:"):
    settings |= {"ROBOTSTXT_OBEY": True, "DOWNLOAD_DELAY": 0.1, "CONCURRENT_REQUESTS": 30,
                 "RANDOMIZE_DOWNLOAD_DELAY": False, "CONCURRENT_REQUESTS_PER_DOMAIN": 1}
    if permits != "bare":
        settings |= {"DECORUM_URL": permits[7:], "DECORUM_SHADOW": True, "DOWNLOADER_MIDDLEWARES": MIDDLEWARE}
else:
    settings |= {"DECORUM_URL": permits, "DECORUM_PATIENCE": float(os.environ.get("PATIENCE_S", "12")), "DOWNLOADER_MIDDLEWARES": MIDDLEWARE}
if reactor != "-":
    settings["TWISTED_REACTOR"] = reactor
process = CrawlerProcess(settings)
process.crawl(Spider)
process.start()
