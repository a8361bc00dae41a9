#!/usr/bin/env bash
# Makes a release from this tree: static binaries, Debian and RPM packages, the clients as a wheel and for npm, the source with the map built, notes, checksums, and lists of what is in them (SBOM, SPDX). Two runs on one commit give
# the same bytes: the Go toolchain is pinned in go.mod, paths are trimmed, and every file has the time of the commit.
#
#     deploy/release.sh VERSION FOLDER [OS/ARCH …]      VERSION as 0.1.0; without OS/ARCH all that are released
#
# RELEASE_KEY names a private key of ssh-keygen: the checksums are then signed with it, in SHA256SUMS.sig.
#
# The map must be built (make web): it is in the binary, so who installs a release needs no Node.js.
set -euo pipefail
cd "$(dirname "$0")/.."
NFPM=github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.0 # the last one whose modules are all on the public proxy

version=${1#v} out=$2
shift 2
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64)
[ -f web/dist/index.html ] || { echo "the map is not built: make web" >&2; exit 1; }
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH TZ=UTC LC_ALL=C
commit=$(git rev-parse --short=12 HEAD)
key=${RELEASE_KEY:+$(realpath "$RELEASE_KEY")}
mkdir -p "$out"
out=$(cd "$out" && pwd)
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
build() { # build OS/ARCH FILE
  CGO_ENABLED=0 GOOS=${1%/*} GOARCH=${1#*/} go build -trimpath -buildvcs=false -ldflags "-s -w -X main.version=$version -X main.commit=$commit" -o "$2" ./cmd/hazardd
}
stamp() { find "$@" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +; }

# What is the same for all: manual, completions, units.
host=$(go env GOHOSTOS)/$(go env GOHOSTARCH)
build "$host" "$stage/host"
"$stage/host" man | gzip -9n >"$stage/hazardd.1.gz"
for shell in bash zsh fish; do "$stage/host" completion "$shell" >"$stage/hazardd.$shell"; done
mkdir "$stage/units"
for unit in hazardd.service hazardd-backup.service hazardd-backup.timer; do
  sed 's|/usr/local/bin/hazardd|/usr/bin/hazardd|g; s|/etc/systemd/system/|/usr/lib/systemd/system/|g' "deploy/$unit" >"$stage/units/$unit"
done

for target in "${targets[@]}"; do
  os=${target%/*} arch=${target#*/} name=hazardd_${version}_${target/\//_}
  mkdir "$stage/$name"
  program=hazardd
  [ "$os" != windows ] || program=hazardd.exe
  if [ "$target" = "$host" ]; then cp "$stage/host" "$stage/$name/$program"; else build "$target" "$stage/$name/$program"; fi
  cp LICENSE README.md CHANGELOG.md "$stage/$name/"
  stamp "$stage/$name"
  tar -C "$stage" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -cf - "$name" | gzip -9n >"$out/$name.tar.gz"
  go run ./deploy/sbom "$version" "$stage/$name/$program" >"$out/$name.spdx.json"
  if [ "$os" = linux ]; then
    cp "$stage/$name/hazardd" "$stage/hazardd"
    stamp "$stage"
    sed "s|\${ARCH}|$arch|; s|\${VERSION}|$version|; s|\${STAGE}|$stage|g; s|\${MTIME}|$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)|" deploy/package/nfpm.yaml >"$stage/nfpm.yaml"
    for packager in deb rpm; do go run "$NFPM" package --config "$stage/nfpm.yaml" --packager "$packager" --target "$out/"; done
  fi
done

# The source with the map built, so that go build needs no Node.js.
source=hazardd_${version}_source
git archive --prefix="$source/" HEAD | tar -C "$stage" -xf -
cp -R web/dist/. "$stage/$source/web/dist/"
stamp "$stage/$source"
tar -C "$stage" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -cf - "$source" | gzip -9n >"$out/$source.tar.gz"
cp deploy/notes.md "$out/NOTES.md"
go run ./deploy/clients "$version" "$out" # needs neither Python nor Node.js

cd "$out"
sha256sum -- *.tar.gz *.tgz *.whl *.spdx.json $(ls -- *.deb *.rpm 2>/dev/null) >SHA256SUMS
if [ -n "$key" ]; then ssh-keygen -q -Y sign -f "$key" -n hazardd SHA256SUMS; fi
