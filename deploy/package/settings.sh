# Each setting of the documents that needs something of the machine, under the unit of the package. test.sh sources this: inside and eventually are its own.

mark() { cursor=$(inside journalctl -n 1 -o cat --show-cursor | sed -n 's/^-- cursor: //p'); }
with() { # with LINES [SERVER]: hazardd starts with these lines, and is ready
  printf 'data: /var/lib/hazardd\nsources: none\n%s\n' "$1" | inside tee /etc/hazardd/hazardd.yaml >/dev/null
  mark
  inside systemctl restart hazardd
  inside hazardd ready --server "${2:-http://127.0.0.1:8080}" >/dev/null
  printf 'ready with %s\n' "${1//$'\n'/, }"
}
refused() { # refused LINES WORDS: hazardd does not start, and its error has the words
  printf 'data: /var/lib/hazardd\nsources: none\n%s\n' "$1" | inside tee /etc/hazardd/hazardd.yaml >/dev/null
  mark
  if inside systemctl restart hazardd 2>/dev/null; then echo "starts with $1" >&2; return 1; fi
  inside systemctl stop hazardd
  logged "$2"
  printf 'refused: %s\n' "${1//$'\n'/, }"
}
logged() { eventually inside sh -c 'journalctl -u hazardd -o cat --after-cursor="$1" | grep -F -- "$2"' - "$cursor" "$1"; } # logged WORDS: since the last start
drop_in() { # drop_in LINE: what systemctl edit hazardd writes
  inside sh -c 'mkdir -p /etc/systemd/system/hazardd.service.d && printf "[Service]\n%s\n" "$1" >/etc/systemd/system/hazardd.service.d/override.conf && systemctl daemon-reload' - "$1"
}
secret() { inside sh -c 'umask 077; cat >"/etc/hazardd/secrets/$1"' - "$1"; }

say "second disks"
inside install -d -o hazardd -g hazardd -m 700 /mnt/second/hazardd /srv/archive /data
with "backup-to: /mnt/second/hazardd"
eventually inside hazardd backup --verify /mnt/second/hazardd
refused "backup-to: /data/backup" "add ReadWritePaths=/data/backup below [Service]"
inside install -d -o hazardd -g hazardd -m 700 /data/backup
drop_in "ReadWritePaths=/data/backup"
with "backup-to: /data/backup"
eventually inside hazardd backup --verify /data/backup
inside mkdir -p /srv/of-root
with "backup-to: /srv/of-root"
logged "give the folder to it"
with $'archive: /srv/archive\nkeep-history: 31d'
with "audit-to: /srv/archive/audit.json"
inside hazardd user add "auditor" --role reader --random >/dev/null
eventually inside grep auditor /srv/archive/audit.json
with "audit-to: /var/log/audit.json"
inside hazardd user add "auditor-2" --role reader --random >/dev/null
logged "add ReadWritePaths=/var/log/audit.json"

say "secrets and keys, for root alone"
printf 'umbrella' | secret smtp-password
inside cp /etc/hazardd/secrets/smtp-password /etc/hazardd/smtp-password # mode 0600, of root
mail=$'smtp: smtps://hazards@mail.example.org\nsmtp-from: Hazards <hazards@example.org>\nsmtp-password-file: '
with "${mail}/etc/hazardd/secrets/smtp-password"
refused "${mail}/etc/hazardd/smtp-password" "move a file with a secret to /etc/hazardd/secrets"
refused "${mail}/etc/hazardd/secrets/not-there" "handed on no such file when it started"
openssl req -x509 -newkey rsa:3072 -nodes -days 30 -subj /CN=alerts.example.org -keyout "$work/key" -out "$work/certificate" 2>/dev/null
secret cap.key <"$work/key"
inside tee /etc/hazardd/cap.pem <"$work/certificate" >/dev/null
with $'cap-key: /etc/hazardd/secrets/cap.key\ncap-certificate: /etc/hazardd/cap.pem'
inside hazardd keys unsign >/dev/null
openssl rand -base64 32 | secret webpush.key
with $'webpush: mailto:ops@example.org\nwebpush-key: /etc/hazardd/secrets/webpush.key'
openssl rand -base64 32 | secret addresses.key
with "address-key: /etc/hazardd/secrets/addresses.key"
with $'oidc-issuer: https://login.example.org/realms/main\noidc-client-id: hazardd\noidc-secret-file: /etc/hazardd/secrets/smtp-password\npublic-url: https://hazards.example.org\noidc-groups: "staff=reader"'
with $'wis2: mqtts://hazardd@broker.example.org:8883\nwis2-password-file: /etc/hazardd/secrets/smtp-password\nwis2-topic: origin/a/wis2/ke-kmd/data/core/weather/advisories-warnings\nwis2-dataset: urn:wmo:md:ke-kmd:cap-alerts\npublic: read\npublic-url: https://hazards.example.org'
with $'mirror:\n  - {name: national-centre, url: "https://api.example.org/service", user: replica, password-file: /etc/hazardd/secrets/smtp-password}'
refused $'mirror:\n  - {name: national-centre, url: "https://api.example.org/service", user: replica, password-file: /etc/hazardd/smtp-password}' "move a file with a secret to /etc/hazardd/secrets"
inside sh -c 'mkdir -p /etc/hazardd/channels /etc/hazardd/areas && printf "template: telegram\nsecret_file: /etc/hazardd/secrets/smtp-password\n" >/etc/hazardd/channels/telegram.yaml'
with $'channels: /etc/hazardd/channels\nareas: /etc/hazardd/areas'
bucket="files: s3://hazards/files?endpoint=https://127.0.0.1:9&region=eu-central-1"
inside sh -c 'printf "HAZARDD_S3_ACCESS_KEY_FILE=/etc/hazardd/secrets/smtp-password\nHAZARDD_S3_SECRET_KEY_FILE=/etc/hazardd/secrets/smtp-password\n" >/etc/hazardd/hazardd.env'
with "$bucket"
inside sh -c ': >/etc/hazardd/hazardd.env; printf "*:5432:hazardd:hazardd:umbrella\n" >/etc/hazardd/pgpass; chmod 600 /etc/hazardd/pgpass'
refused "database: postgres://hazardd@127.0.0.1/hazardd?sslmode=disable" "check that the server at that address is running"

say "ports 80 and 443, TLS"
with 'listen: ":80"' http://127.0.0.1:80
tls=$'listen: ":443"\nhttp-listen: ":80"\npublic-url: https://hazards.example.org\ntls-cert: /etc/hazardd/cap.pem\ntls-key: /etc/hazardd/tls.key'
inside cp /etc/hazardd/secrets/cap.key /etc/hazardd/tls.key # mode 0600, of root
refused "$tls" "chgrp hazardd /etc/hazardd/tls.key"
inside sh -c 'chgrp hazardd /etc/hazardd/tls.key && chmod 640 /etc/hazardd/tls.key'
with "$tls" http://127.0.0.1:80
inside curl -sfk https://127.0.0.1/healthz >/dev/null
inside sh -c 'curl -s -o /dev/null -w "%{redirect_url}\n" http://127.0.0.1/ | grep "^https://hazards.example.org/"'
with $'acme-host: [hazards.example.org]\nlisten: ":443"\nhttp-listen: ":80"' http://127.0.0.1:80
logged "no TLS certificate" # the authority is out of reach here
if [ -n "${PEBBLE:-}" ]; then # an authority of the test (the program of github.com/letsencrypt/pebble)
  openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=localhost -addext subjectAltName=DNS:localhost -keyout "$root/srv/ca.key" -out "$root/srv/ca.pem" 2>/dev/null
  cp "$PEBBLE" "$root/srv/pebble"
  cat >"$root/srv/pebble.json" <<'END'
{"pebble": {"listenAddress": "127.0.0.1:14000", "certificate": "/srv/ca.pem", "privateKey": "/srv/ca.key", "httpPort": 80, "tlsPort": 443}}
END
  inside cp /srv/ca.pem /etc/hazardd/ca.pem
  inside sh -c 'echo "127.0.0.1 localhost hazards.example.org" >/etc/hosts'
  inside systemd-run --quiet --unit=pebble --setenv=PEBBLE_VA_NOSLEEP=1 /srv/pebble -config /srv/pebble.json
  with $'acme-host: [hazards.example.org]\nlisten: ":443"\nhttp-listen: ":80"\nacme-directory: https://localhost:14000/dir\nacme-root: /etc/hazardd/ca.pem' http://127.0.0.1:80
  logged "the authority gave a TLS certificate"
  inside sh -c 'curl -skv https://hazards.example.org/healthz 2>&1 | grep "issuer:.*Pebble"'
fi
if [ -n "${PEERS:-}" ]; then # servers of the test: deploy/package/peers, and an S3 server (the program of github.com/versity/versitygw)
  say "servers that answer: a bucket, single sign-on, WIS2, syslog"
  openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1 -keyout "$root/srv/peer.key" -out "$root/srv/peer.pem" 2>/dev/null
  cp "$PEERS" "$root/srv/peers"
  cp "$S3" "$root/srv/s3"
  inside cp /srv/peer.pem /etc/hazardd/peer.pem
  inside mkdir -p /srv/objects/hazards /srv/iam
  inside systemd-run --quiet --unit=peers /srv/peers /srv/peer.pem /srv/peer.key
  eventually inside curl -sf http://127.0.0.1:8081/keys
  inside systemd-run --quiet --unit=s3 --setenv=ROOT_ACCESS_KEY=umbrella --setenv=ROOT_SECRET_KEY=umbrella /srv/s3 --quiet --iam-dir /srv/iam --port 127.0.0.1:7070 posix --nometa /srv/objects
  peers() { eventually inside sh -c 'journalctl -u peers -o cat | grep -F -- "$1"' - "$1"; } # peers WORDS: what came to them
  inside sh -c 'printf "HAZARDD_S3_ACCESS_KEY_FILE=/etc/hazardd/secrets/smtp-password\nHAZARDD_S3_SECRET_KEY_FILE=/etc/hazardd/secrets/smtp-password\nSSL_CERT_FILE=/etc/hazardd/peer.pem\n" >/etc/hazardd/hazardd.env'
  bucket='s3://hazards/%s?endpoint=http://127.0.0.1:7070&path_style=true'
  with "backup-to: ${bucket/\%s/backup}"
  eventually inside env HAZARDD_S3_ACCESS_KEY=umbrella HAZARDD_S3_SECRET_KEY=umbrella hazardd backup --verify "${bucket/\%s/backup}"
  with "files: ${bucket/\%s/files}"
  ask http://127.0.0.1:8080/hazards/6a1a3a5e-7d5b-4a53-9d5e-0f7c3a1b2c4d/products -F 'product={"title": "The quay", "product_Type": "FILE_PRODUCT"}' -F file=@/etc/hostname >/dev/null
  inside sh -c 'find /srv/objects/hazards/files -type f | grep -E "/[0-9a-f]{64}$"'
  with $'oidc-issuer: http://127.0.0.1:8081\noidc-client-id: hazardd\noidc-secret-file: /etc/hazardd/secrets/smtp-password\noidc-groups: "staff=reader"\npublic-url: https://hazards.example.org'
  inside sh -c 'curl -s -o /dev/null -w "%{redirect_url}\n" http://127.0.0.1:8080/login/provider | grep "^http://127.0.0.1:8081/authorize?"'
  with $'wis2: mqtts://hazardd@localhost:8883\nwis2-password-file: /etc/hazardd/secrets/smtp-password\nwis2-topic: origin/a/wis2/ke-kmd/data/core/weather/advisories-warnings\nwis2-dataset: urn:wmo:md:ke-kmd:cap-alerts\npublic: read\npublic-url: https://hazards.example.org'
  inside hazardd org add MET --name "Meteorological Service" >/dev/null
  inside hazardd org publish MET --sender alerts@met.example.org --language en >/dev/null
  printf 'umbrella trombone quartz lagoon' | inside hazardd user add forecaster --role editor --org "$(inside hazardd org list --json | grep -o '"id": *[0-9]*' | tail -1 | grep -o '[0-9]*')" --password-stdin >/dev/null
  printf 'umbrella trombone quartz lagoon' | inside hazardd report 'Flood - Tana' --type FLOOD --severity WARNING --at=-1.5,40 --user forecaster --password-stdin >/dev/null
  peers "announced on origin/a/wis2/ke-kmd/data/core/weather/advisories-warnings"
  with "audit-to: tcp://127.0.0.1:6514"
  inside hazardd user add "auditor-3" --role reader --random >/dev/null
  peers "auditor-3"
  inside sh -c ': >/etc/hazardd/hazardd.env'
fi
inside sh -c 'rm -r /etc/systemd/system/hazardd.service.d && systemctl daemon-reload'
inside sh -c 'printf "data: /var/lib/hazardd\n# contact: ops@example.org\n" >/etc/hazardd/hazardd.yaml'
inside systemctl restart hazardd
