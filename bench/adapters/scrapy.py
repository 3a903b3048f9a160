"""The settings of integrations/scrapy/README.md, and nothing else: scrapy.py PERMITS-URL FILE-OF-URLS INTEGRATIONS"""
import sys

sys.path.append(sys.argv[3] + "/scrapy")
import scrapy
from scrapy.crawler import CrawlerProcess

with open(sys.argv[2]) as file:
    URLS = file.read().split()


class Pages(scrapy.Spider):
    name = "pages"
    start_urls = URLS

    def parse(self, response):
        pass


process = CrawlerProcess({
    "DOWNLOADER_MIDDLEWARES": {"decorum_scrapy.DecorumMiddleware": 950},
    "DECORUM_URL": sys.argv[1],
    "ROBOTSTXT_OBEY": False,
    "AUTOTHROTTLE_ENABLED": False,
    "DOWNLOAD_DELAY": 0,
    "CONCURRENT_REQUESTS": 1000,
    "LOG_LEVEL": "ERROR",
    "TELNETCONSOLE_ENABLED": False,
})
process.crawl(Pages)
process.start()
