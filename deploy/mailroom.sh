#!/bin/sh
# Runs commands of the program with the settings, data and user of the service that systemd runs. Install
# it as /usr/local/bin/mailroom, then use `mailroom admin doctor`, `mailroom admin backup …` and so on.
set -eu
# The PATH of a timer lacks the folders of root's programs.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
# INSTANCE=one selects the service mailroom@one.
export MAILROOM_DATA_DIR="/var/lib/mailroom${INSTANCE:+-$INSTANCE}"
for file in /etc/mailroom/mailroom.env "/etc/mailroom/${INSTANCE:-}.env"; do
  [ -f "$file" ] || continue
  while IFS= read -r line || [ -n "$line" ]; do
    case "$line" in [A-Z]*=*) export "${line?}" ;; esac
  done <"$file"
done
cd "$MAILROOM_DATA_DIR"
exec runuser -u mailroom -- /opt/mailroom/node_modules/.bin/node /opt/mailroom/packages/cli/src/main.mjs "$@"
