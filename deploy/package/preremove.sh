#!/bin/sh
# Before a removal (Debian: "remove"; RPM: 0), not before an upgrade.
set -e
case "$1" in
  remove | 0) ;;
  *) exit 0 ;;
esac
[ -d /run/systemd/system ] || exit 0
systemctl disable --now hazardd-backup.timer hazardd.service
