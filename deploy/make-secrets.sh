#!/bin/sh
# Creates the secrets of compose.yaml and compose.sqlite.yaml in deploy/secrets and the settings in deploy/mailroom.env, unless
# they exist. Running it again changes nothing.
set -eu
umask 077
cd "$(dirname "$0")"
# The container user must be able to read the files; the mode of the folder keeps out other users of this machine.
mkdir -p secrets tls
put() {
  [ -s "secrets/$1" ] || printf '%s\n' "$2" >"secrets/$1"
  chmod 0444 "secrets/$1"
}
put postgres_password "$(openssl rand -hex 24)"
put secret_key "$(openssl rand -base64 32)"
put admin_token "$(openssl rand -hex 24)"
put api_key "mr_$(openssl rand -hex 24)"
put database_url "postgres://mailroom:$(cat secrets/postgres_password)@postgres:5432/mailroom"
chmod 0755 tls
[ -e mailroom.env ] || cp mailroom.env.example mailroom.env
chmod 0644 mailroom.env
echo "The secrets are in deploy/secrets; api_key is the API key of the first account. Put your names into deploy/mailroom.env."
