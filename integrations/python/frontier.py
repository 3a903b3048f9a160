#!/usr/bin/env python3
"""A list of URLs goes in, a file of outcomes comes out, and a kill at any moment loses and repeats no line.

    CONSOLE=http://127.0.0.1:7070 LOGIN=decorum:password python3 frontier.py urls.txt done.ndjson

It ends when every URL of the list has its outcome, which is a line of done.ndjson. Started again with the same files, it goes on: an outcome
is acknowledged only when it is on the disk, so what was not written comes again. What was written and not acknowledged comes again
too; it is known by its id and not written a second time.
"""
import json
import os
import sys

from decorum_frontier import Frontier, Wrong

GROUP = os.environ.get("GROUP", "python-frontier")
CONSOLE = os.environ.get("CONSOLE", "http://127.0.0.1:7070")


def read_lines(path):
    """Whole lines only: the last one may have been cut off by a kill, and is written again."""
    if not os.path.exists(path):
        return []
    with open(path, "r+b") as file:
        text = file.read()
        whole = text.rfind(b"\n") + 1
        file.truncate(whole)
    return text[:whole].decode().splitlines()


def append(file, lines):
    """Returns when they are on the disk."""
    file.write("".join(line + "\n" for line in lines))
    file.flush()
    os.fsync(file.fileno())


def enqueue(frontier, urls, sent_path):
    """Sends what has not been sent. A part that was sent just before a kill is sent again: what of it still waits is absorbed by
    its id, and what was fetched in between is fetched once more."""
    sent = sum(int(line) for line in read_lines(sent_path))
    with open(sent_path, "a", encoding="utf-8") as file:
        for at in range(sent, len(urls), frontier.at_once):
            part = urls[at : at + frontier.at_once]
            frontier.enqueue({"url": url, "id": f"{GROUP}-{at + n}"} for n, url in enumerate(part))
            append(file, [str(len(part))])


def main(urls_path, done_path):
    with open(urls_path, encoding="utf-8") as file:
        urls = [line.strip() for line in file if line.strip()]
    frontier = Frontier(CONSOLE, os.environ.get("LOGIN", ""), GROUP, os.environ.get("CONSUMER", "one"))
    waiting = {f"{GROUP}-{n}" for n in range(len(urls))}
    done = set()

    def note(outcome):
        """A redirect's target is a candidate of its own, whose outcome is waited for as well."""
        done.add(outcome["id"])
        waiting.discard(outcome["id"])
        if outcome["kind"] == "redirected" and outcome["candidate"] not in done:
            waiting.add(outcome["candidate"])

    for line in read_lines(done_path):
        note(json.loads(line))
    enqueue(frontier, urls, done_path + ".sent")
    with open(done_path, "a", encoding="utf-8") as file:
        while waiting:
            deliveries = frontier.read()
            outcomes = [one["outcome"] for one in deliveries]
            # Of other frontiers that use the same crawl, and what was written before a kill: only acknowledged
            new = {one["id"]: one for one in outcomes if one["id"].startswith(GROUP + "-") and one["id"] not in done}
            append(file, [json.dumps(one) for one in new.values()])
            for outcome in new.values():
                note(outcome)
            frontier.acknowledge(deliveries)
            print(f"{len(done)} done, {len(waiting)} waiting", flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    try:
        main(sys.argv[1], sys.argv[2])
    except Wrong as error:
        sys.exit(str(error))
