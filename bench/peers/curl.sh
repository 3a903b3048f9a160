#!/bin/sh
# curl --parallel: ten at once, and --retry, which keeps Retry-After for the URL that was answered so. It has no delay for a site in parallel
# (--rate is for one transfer after the other), and reads no robots.txt. https://curl.se/docs/manpage.html
# Behind a proxy: http_proxy and https_proxy are read; nothing else changes.
# Usage: curl.sh FILE-OF-URLS, with PEER_FOLDER
sed 's/.*/url = "&"\noutput = "\/dev\/null"/' "$1" > "$PEER_FOLDER/curl.config"
exec curl -s -L --parallel --parallel-max 10 --retry 3 -A 'peerbot/1 (+https://example.com/bot)' -K "$PEER_FOLDER/curl.config"
