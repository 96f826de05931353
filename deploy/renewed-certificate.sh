#!/bin/sh
# A deploy hook of certbot, which calls it after each renewal with RENEWED_LINEAGE: copies the certificate
# of the service's name to where the service may read it. Install it as
# /etc/letsencrypt/renewal-hooks/deploy/mailroom.
set -eu
settings="${SETTINGS_FILE:-/etc/mailroom/mailroom.env}"
to="${TLS_FOLDER:-/etc/mailroom/tls}"
name="$(sed -n 's/^MAILROOM_SMTP_HOSTNAME=//p' "$settings")"
[ "$(basename "$RENEWED_LINEAGE")" = "$name" ] || exit 0
# Only the service's group may read the key, and each file is replaced atomically. The service loads a pair only
# if certificate and key match, so the moment between the two does no harm.
for file in privkey.pem fullchain.pem; do
  install -o root -g "${SERVICE_GROUP:-mailroom}" -m 0640 "$RENEWED_LINEAGE/$file" "$to/.$file"
  mv -f "$to/.$file" "$to/$file"
done
# Under systemd, reload now instead of within a minute.
if command -v systemctl >/dev/null; then
  systemctl reload 'mailroom*.service' 2>/dev/null || true
fi
