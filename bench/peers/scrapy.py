"""
Scrapy. Bare: ROBOTSTXT_OBEY, DOWNLOAD_DELAY without jitter, one request at a time for each domain.
https://docs.scrapy.org/en/latest/topics/settings.html · https://docs.scrapy.org/en/latest/topics/throttling.html
Behind a proxy: the same, without a delay of its own. HttpProxyMiddleware reads http_proxy and https_proxy.
Usage: scrapy.py FILE-OF-URLS, with PEER_DELAY_MS
"""
import os
import sys

import scrapy
from scrapy.crawler import CrawlerProcess

with open(sys.argv[1]) as file:
    URLS = file.read().split()
DELAY_S = int(os.environ["PEER_DELAY_MS"]) / 1000


class Pages(scrapy.Spider):
    name = "pages"
    start_urls = URLS

    def parse(self, response):
        pass


settings = {
    "USER_AGENT": "peerbot/1 (+https://example.com/bot)",
    "ROBOTSTXT_OBEY": True,
    "DOWNLOAD_DELAY": 0 if "http_proxy" in os.environ else DELAY_S,
    "DOWNLOAD_DELAY_JITTER": 0,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
    "LOG_LEVEL": "ERROR",
    "TELNETCONSOLE_ENABLED": False,
}
process = CrawlerProcess(settings)
process.crawl(Pages)
process.start()
