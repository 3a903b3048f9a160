#!/bin/sh
# What `npm ci` links as node_modules/.bin/node: Node 24, which is the first one on the PATH if that is new enough, and is installed otherwise;
# but not for the npm of a set-up that is under way (scripts/npm.mjs): that would wait for the set-up, which waits for npm.
self=$(readlink -f -- "$0")
root=${self%/scripts/node24/launcher/node.sh}
node=$root/node_modules/.node24/bin/node
if [ ! -x "$node" ]; then
  IFS=:
  for folder in $PATH; do
    own=$folder/node
    [ -x "$own" ] && [ "$(readlink -f -- "$own")" != "$self" ] && break
    own=
  done
  unset IFS
  if [ -z "$own" ]; then
    echo 'decorum: no Node on the PATH: install Node 24 together with npm' >&2
    exit 127
  fi
  [ -n "$DECORUM_SET_UP" ] && exec "$own" "$@"
  [ "$("$own" -p 'Number.parseInt(process.versions.node) >= 24')" = true ] && exec "$own" "$@"
  "$own" "$root/scripts/node24.mjs" >&2 || exit
fi
exec "$node" "$@"
