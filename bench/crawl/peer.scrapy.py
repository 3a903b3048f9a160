"""Crawls the URLs of a file, one a line, at a delay: peer.scrapy.py FILE DELAY-SECONDS"""
import sys

import scrapy
from scrapy.crawler import CrawlerProcess

path, delay = sys.argv[1:]


class Spider(scrapy.Spider):
    name = "peer"

    def start_requests(self):
        with open(path) as lines:
            for line in lines:
                yield scrapy.Request(line.strip(), dont_filter=True)

    def parse(self, response):
        pass


process = CrawlerProcess({
    "LOG_LEVEL": "ERROR", "TELNETCONSOLE_ENABLED": False, "ROBOTSTXT_OBEY": True, "USER_AGENT": "peer/1 (+https://example.com/bot)",
    "CONCURRENT_REQUESTS": 5000, "CONCURRENT_REQUESTS_PER_DOMAIN": 1, "DOWNLOAD_DELAY": float(delay), "RANDOMIZE_DOWNLOAD_DELAY": False,
    "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue",
})
process.crawl(Spider)
process.start()
