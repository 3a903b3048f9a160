#!/bin/sh
# wget. Bare: --wait for the delay, three tries, also after 429 and 503. It reads robots.txt for the links that it follows (-r), and not for
# the URLs that it is given. https://www.gnu.org/software/wget/manual/wget.html
# Behind a proxy: http_proxy and https_proxy are read, and no --wait.
# Usage: wget.sh FILE-OF-URLS, with PEER_DELAY_MS and PEER_FOLDER
wait=$(printf '%d.%03d' $((PEER_DELAY_MS / 1000)) $((PEER_DELAY_MS % 1000)))
if [ -n "$http_proxy" ]; then wait=0; fi
exec wget -q -i "$1" -P "$PEER_FOLDER" --wait="$wait" --tries=3 --waitretry=2 --retry-on-http-error=429,503 -U 'peerbot/1 (+https://example.com/bot)'
