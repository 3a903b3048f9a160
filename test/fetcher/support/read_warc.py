"""Reads WARC files without any code of ours or of warcio's: python3's standard library alone.

read_warc.py check FILE   every gzip member is one record; lengths are right, and digests where it has them
read_warc.py cdxj FILE    each line of the index names a range that alone is a readable record of that URL
read_warc.py partial FILE  reads records until the first broken one; prints how many were whole
read_warc.py replay FOLDER URL…  answers each URL as replay tools do: with the latest capture in the indexes of the folder, and a revisit with the
                           head of the revisit, if it has one, and the earlier capture of the same digest; prints status, type and body.
                           It finds lines by their URL: whether keys are right is for the library `surt` to say (test/fetcher/unit/surt.test.ts)
"""
import base64
import hashlib
import json
import os
import sys
import zlib


def members(octets):
    """Yields (offset, length, content) of each gzip member."""
    at = 0
    while at < len(octets):
        inflate = zlib.decompressobj(31)
        content = inflate.decompress(octets[at:]) + inflate.flush()
        if not inflate.eof:
            raise ValueError("a gzip member is cut at offset %d" % at)
        length = len(octets) - at - len(inflate.unused_data)
        yield at, length, content
        at += length


def sha1(octets):
    return "sha1:" + base64.b32encode(hashlib.sha1(octets).digest()).decode()


def record(content):
    head, _, rest = content.partition(b"\r\n\r\n")
    version, *lines = head.decode("utf-8").split("\r\n")
    assert version == "WARC/1.1", version
    fields = [line.split(": ", 1) for line in lines]
    names = dict((name.lower(), value) for name, value in fields)
    size = int(names["content-length"])
    block, end = rest[:size], rest[size:]
    assert len(block) == size, "the block is shorter than its Content-Length"
    assert end == b"\r\n\r\n", "a record ends with two CRLF"
    for name in ("warc-record-id", "warc-date", "warc-type", "content-type"):
        assert name in names, "no " + name
    if "warc-block-digest" in names:
        assert names["warc-block-digest"] == sha1(block), "block digest"
    if names["warc-type"] == "response":
        http_head, found, body = block.partition(b"\r\n\r\n")
        assert found and http_head.startswith((b"HTTP/1.1 ", b"HTTP/1.0 ")), "no HTTP head"
        assert names["warc-payload-digest"] == sha1(body), "payload digest"
        assert b"\r\ntransfer-encoding:" not in http_head.lower(), "the stored body is not chunked"
    if names["warc-type"] == "revisit":
        profile = names["warc-profile"].rsplit("/", 1)
        assert profile[0] == "http://netpreserve.org/warc/1.1/revisit", "profile"
        assert profile[1] in ("server-not-modified", "identical-payload-digest"), "profile"
        assert profile[1] == "server-not-modified" or "warc-payload-digest" in names, "no digest to resolve it by"
        assert names["warc-refers-to-target-uri"] == names["warc-target-uri"]
        head, _, body = block.partition(b"\r\n\r\n")
        assert body == b"", "a revisit has no body"
        assert (head == b"") == (profile[1] == "server-not-modified"), "the head of a 304 is not to be shown"
    return names, block


def check(path):
    kinds, truncated, ids = [], [], {}
    with open(path, "rb") as file:
        octets = file.read()
    for _, _, content in members(octets):
        names, _ = record(content)
        kinds.append(names["warc-type"])
        if "warc-truncated" in names:
            truncated.append(names["warc-truncated"])
        ids[names["warc-record-id"]] = names["warc-type"]
        if names["warc-type"] == "request":
            assert ids[names["warc-concurrent-to"]] in ("response", "revisit"), "a request belongs to a response before it"
    assert kinds[0] == "warcinfo"
    print("records", len(kinds), "responses", kinds.count("response"), "requests", kinds.count("request"))
    print("truncated:", *truncated)
    print("kinds:", *kinds)


def cdxj(path):
    count = 0
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            _, _, text = line.split(" ", 2)
            entry = json.loads(text)
            with open(os.path.join(os.path.dirname(path), entry["filename"]), "rb") as file:
                file.seek(int(entry["offset"]))
                octets = file.read(int(entry["length"]))
            [(_, length, content)] = members(octets)
            assert length == len(octets)
            names, block = record(content)
            kind = "revisit" if entry["mime"] == "warc/revisit" else "response"
            assert names["warc-type"] == kind and names["warc-target-uri"] == entry["url"]
            assert names.get("warc-payload-digest") == entry.get("digest")
            assert (block.split(b" ")[1].decode() if block else None) == entry.get("status")
            count += 1
    print("lines", count)


def replay(folder, *urls):
    lines = []
    for name in os.listdir(folder):
        if name.endswith(".cdxj"):
            with open(os.path.join(folder, name), "rb") as index:
                part = index.read().splitlines()
            assert part == sorted(part), "the index is not sorted as bytes"
            lines += part
    lines.sort()
    for url in urls:
        captures = [(time, json.loads(text)) for _, time, text in (line.decode().split(" ", 2) for line in lines)]
        found = [entry for _, entry in sorted(captures, key=lambda one: one[0]) if entry["url"] == url]
        assert found, "not in the index: " + url
        capture = found[-1]
        original = capture
        if capture["mime"] == "warc/revisit":
            wanted = capture.get("digest")
            same = [one for one in found if one["mime"] != "warc/revisit" and wanted in (None, one["digest"])]
            assert same, "the original of a revisit is not found: " + url
            original = same[-1]
        with open(os.path.join(folder, original["filename"]), "rb") as file:
            file.seek(int(original["offset"]))
            [(_, _, content)] = members(file.read(int(original["length"])))
        _, block = record(content)
        print(capture.get("status", original["status"]), capture["mime"], block.partition(b"\r\n\r\n")[2].decode("latin-1"))


def partial(path):
    count = 0
    with open(path, "rb") as file:
        octets = file.read()
    try:
        for _, _, content in members(octets):
            record(content)
            count += 1
    except ValueError:
        pass
    print("whole", count)


try:
    {"check": check, "cdxj": cdxj, "partial": partial, "replay": replay}[sys.argv[1]](*sys.argv[2:])
except (AssertionError, ValueError, KeyError, zlib.error) as error:
    print("broken:", error)
    sys.exit(1)
