"""Writes surt-cases.json: odd URLs, each with the key that the library `surt` from PyPI makes of it, as pywb, cdxj-indexer and outbackcdx do.

    python3 -m venv /tmp/surt && /tmp/surt/bin/pip install surt==0.3.1
    node test/fetcher/unit/odd-urls.ts | /tmp/surt/bin/python test/fetcher/unit/surt-cases.py > test/fetcher/unit/surt-cases.json
"""
import json
import sys
import surt

print("[")
urls = [line.rstrip("\n") for line in sys.stdin]
print(",\n".join(json.dumps([url, surt.surt(url)]) for url in urls))
print("]")
