"""
Crawlee for Python. Bare: respect_robots_txt_file, and a ThrottlingRequestManager with the delay as the crawl-delay of each domain.
https://crawlee.dev/python/docs/examples/respect-robots-txt-file · https://crawlee.dev/python/docs/guides/request-throttling
Behind a proxy: a ProxyConfiguration, and no delay of its own.
Its HTTP client (impit) takes no file of authorities, so over TLS it runs without checking certificates, bare and behind a proxy.
Usage: crawlee-python.py FILE-OF-URLS, with PEER_DELAY_MS and PEER_FOLDER
"""
import asyncio
import os
import sys
from urllib.parse import urlsplit

from crawlee import service_locator
from crawlee.configuration import Configuration
from crawlee.crawlers import HttpCrawler
from crawlee.http_clients import ImpitHttpClient
from crawlee.proxy_configuration import ProxyConfiguration
from crawlee.request_loaders import ThrottlingRequestManager
from crawlee.storages import RequestQueue

PROXY = os.environ.get("http_proxy")


async def main():
    with open(sys.argv[1]) as file:
        urls = file.read().split()
    configuration = Configuration(storage_dir=os.environ["PEER_FOLDER"], purge_on_start=True)
    service_locator.set_configuration(configuration)
    queue = await RequestQueue.open()
    options = {"http_client": ImpitHttpClient(verify=False), "configure_logging": False, "respect_robots_txt_file": True}
    if PROXY:
        options |= {"proxy_configuration": ProxyConfiguration(proxy_urls=[PROXY]), "request_manager": queue}
    else:
        domains = sorted({urlsplit(url).hostname for url in urls})
        manager = ThrottlingRequestManager(queue, domains=domains, request_manager_opener=RequestQueue.open)
        for url in urls:
            manager.set_crawl_delay(url, int(os.environ["PEER_DELAY_MS"]) / 1000)
        options["request_manager"] = manager
    crawler = HttpCrawler(**options)

    @crawler.router.default_handler
    async def handle(_):
        pass

    await crawler.run(urls)


asyncio.run(main())
