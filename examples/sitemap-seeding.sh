#!/bin/sh
# Seeds a running fleet with the pages that sites name in their sitemaps: REDIS_URL=redis://… sh sitemap-seeding.sh https://example.org …
set -eu
for origin in "$@"; do
  decorum origin sitemaps "$origin" --enqueue --most 50000
done
