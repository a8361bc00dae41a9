#!/bin/sh
# After an installation or an upgrade (Debian: "configure"; RPM: the number of versions that are there).
set -e
case "$1" in
  configure | 1 | 2) ;;
  *) exit 0 ;;
esac
if ! getent passwd hazardd >/dev/null; then
  useradd --system --user-group --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin hazardd
fi
chmod 600 /etc/hazardd/hazardd.env
[ -d /run/systemd/system ] || exit 0
systemctl daemon-reload
if [ -n "$2" ] || [ "$1" = 2 ]; then # an upgrade
  start="try-restart hazardd.service"
else
  start="enable --now hazardd.service hazardd-backup.timer"
fi
systemctl $start || echo "hazardd does not start: journalctl -u hazardd says why" >&2
