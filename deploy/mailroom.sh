#!/bin/sh
# The program's commands beside a service that systemd runs: its settings, its data and its user. Install
# it as /usr/local/bin/mailroom; then `mailroom doctor` and `mailroom backup …` are about that service.
set -eu
# A timer's own has no place for what only root runs.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
# Of mailroom@one, say, with INSTANCE=one in front.
export MAILROOM_DATA_DIR="/var/lib/mailroom${INSTANCE:+-$INSTANCE}"
for file in /etc/mailroom/mailroom.env "/etc/mailroom/${INSTANCE:-}.env"; do
  [ -f "$file" ] || continue
  while IFS= read -r line || [ -n "$line" ]; do
    case "$line" in [A-Z]*=*) export "${line?}" ;; esac
  done <"$file"
done
cd "$MAILROOM_DATA_DIR"
exec runuser -u mailroom -- /opt/mailroom/node_modules/.bin/node /opt/mailroom/packages/cli/src/main.mjs "$@"
