#!/usr/bin/env bash
# Installs the Debian package on a clean Debian 12 with a running systemd, in a container of systemd-nspawn: start, log in, back up by the timer's job, restore, upgrade from the
# release before, each setting of settings.sh, remove, purge. It needs root, mmdebstrap and systemd-nspawn, and the network for Debian's packages.
#
#     deploy/package/test.sh OLD.deb NEW.deb [ROOT.tar]     ROOT.tar is made if it is not there, and used again
#
# With PEBBLE, the program of an ACME authority, the service gets a certificate, too. With PEERS (deploy/package/peers) and S3, the program of
# an S3 server, it backs up to a bucket, begins a login at a provider, announces a message on WIS2 and sends its audit trail.
set -euo pipefail
old=$(realpath "$1") new=$(realpath "$2")
work=$(mktemp -d)
tar=${3:-$work/root.tar}
[ -f "$tar" ] || mmdebstrap --quiet --variant=minbase --include=systemd,systemd-sysv,dbus,ca-certificates,curl bookworm "$tar"
root=$work/root machine=
mkdir "$root"
tar -xf "$tar" -C "$root"
cp "$old" "$root/srv/old.deb"
cp "$new" "$root/srv/new.deb"

systemd-nspawn --quiet --directory="$root" --boot --private-network --register=no --keep-unit --console=pipe </dev/null >"$work/console" 2>&1 &
machine=$!
finish() {
  status=$?
  [ "$status" = 0 ] || { echo "FAILED (status $status). The end of the console:" >&2; tail -40 "$work/console" >&2; inside journalctl -u hazardd -u hazardd-backup -u peers --no-pager -n 15 >&2 || true; }
  [ -z "${init:-}" ] || kill -s RTMIN+4 "$init" 2>/dev/null || true # poweroff
  for _ in $(seq 50); do kill -0 "$machine" 2>/dev/null || break; sleep 0.2; done
  kill -9 "$machine" 2>/dev/null || true
  rm -rf --one-file-system "$work"
  exit "$status"
}
trap finish EXIT
init=
for _ in $(seq 300); do
  init=$(pgrep -P "$machine" | head -1) && [ -n "$init" ] && nsenter -t "$init" -a -- test -S /run/dbus/system_bus_socket 2>/dev/null && break
  sleep 0.2
done
inside() { nsenter -t "$init" -a -- "$@"; }
say() { printf '\n== %s\n' "$*"; }
eventually() { # eventually COMMAND …: within a minute
  for _ in $(seq 120); do "$@" >/dev/null 2>&1 && return; sleep 0.5; done
  echo "does not come true: $*" >&2
  return 1
}
inside ip link set lo up 2>/dev/null || true

say "install the release before"
inside dpkg -i /srv/old.deb
inside hazardd --version
eventually inside hazardd ready
inside systemctl is-active hazardd.service hazardd-backup.timer
inside systemctl show -p User,DynamicUser,MainPID hazardd
id=$(inside getent passwd hazardd)
echo "$id"

say "log in: a password, a user, a token, a hazard"
inside cat /var/lib/hazardd/first-password | head -c 4 >/dev/null
inside hazardd user passwd admin --random >/dev/null
printf 'umbrella trombone quartz lagoon' | inside hazardd user passwd admin --password-stdin
login='{"username": "admin", "password": "umbrella trombone quartz lagoon"}'
token() { inside curl -sf http://127.0.0.1:8080/authorize -H 'Content-Type: application/json' -d "$login" | sed 's/.*"accessToken":"\([^"]*\)".*/\1/'; }
eventually token
ask() { inside curl -sf -H "Authorization: Bearer $(token)" "$@"; }
ask http://127.0.0.1:8080/hazards -d '{"uuid": "6a1a3a5e-7d5b-4a53-9d5e-0f7c3a1b2c4d", "hazard_Name": "Flood - Old Harbour", "type_ID": "FLOOD", "severity_ID": "WATCH", "latitude": 53.5, "longitude": 9.9}'
echo
inside curl -sf -H 'Accept: text/html' http://127.0.0.1:8080/ | grep '<script' >/dev/null # the map is in it

say "back up by the timer's job, which has the user and the folders of its unit"
inside systemctl list-timers --no-pager hazardd-backup.timer
inside systemctl start hazardd-backup.service
inside systemctl show -p Result,ExecMainStatus hazardd-backup.service
inside sh -c 'ls -l /var/lib/hazardd-backup/; stat -c "%U %a" /var/lib/hazardd-backup/*.backup' | tee "$work/backups"
grep -q '^hazardd 600$' "$work/backups"

say "a hazard after the backup, then the store is lost, and restored"
ask http://127.0.0.1:8080/hazards -d '{"hazard_Name": "Flood - after the backup", "type_ID": "FLOOD", "severity_ID": "WATCH", "latitude": 53.5, "longitude": 9.9}' >/dev/null
inside systemctl stop hazardd
inside sh -c 'mv /var/lib/private/hazardd /srv/lost && systemd-run --quiet --wait --pipe -p User=hazardd -p DynamicUser=yes -p "StateDirectory=hazardd hazardd-backup" -p StateDirectoryMode=0700 \
  sh -c "hazardd restore /var/lib/hazardd-backup/*.backup --data /var/lib/hazardd"'
inside systemctl start hazardd
eventually inside hazardd ready
ask http://127.0.0.1:8080/hazards/active | tee "$work/active"
echo
grep -q 'Old Harbour' "$work/active"
if grep -q 'after the backup' "$work/active"; then echo "the restored store is not the backup's" >&2; exit 1; fi

say "upgrade, with a setting that was changed"
inside sh -c "sed -i 's/^# contact:.*/contact: ops@example.org/' /etc/hazardd/hazardd.yaml"
before=$(inside systemctl show -p MainPID --value hazardd)
inside dpkg -i /srv/new.deb
eventually inside hazardd ready
inside hazardd --version
[ "$before" != "$(inside systemctl show -p MainPID --value hazardd)" ]
inside grep '^contact: ops@example.org' /etc/hazardd/hazardd.yaml
ask http://127.0.0.1:8080/hazards/active | grep 'Old Harbour' >/dev/null && echo "the hazard is there"
[ "$id" = "$(inside getent passwd hazardd)" ]

. "$(dirname "$0")/settings.sh"

say "remove, and purge: the program goes, the store stays"
inside dpkg -r hazardd
inside sh -c '! test -e /usr/bin/hazardd && ! systemctl is-active hazardd && test -e /etc/hazardd/hazardd.yaml && ls /var/lib/private/hazardd'
inside dpkg -P hazardd
inside sh -c '! test -e /etc/hazardd/hazardd.yaml && test -e /var/lib/private/hazardd/hazardd.db'

say "all of it worked"
