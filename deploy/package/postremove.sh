#!/bin/sh
# After a removal. The store and its backups stay, whatever is removed: nobody loses hazards by a package. The user goes with the last of the files on purge.
set -e
[ ! -d /run/systemd/system ] || systemctl daemon-reload
if [ "$1" = purge ]; then
  echo "hazardd: the store and its backups stay in /var/lib/private/hazardd and /var/lib/private/hazardd-backup; remove them if nobody needs them" >&2
fi
