module github.com/hazardd/hazardd

go 1.26.0

ignore ./web/node_modules

require (
	// which addresses must not be reached (private, loopback …): the standard library's predicates
	// miss a third
	code.dny.dev/ssrf v0.3.0
	// command line: flags, environment and help from one struct; small, no dependencies
	github.com/alecthomas/kong v1.17.0
	// the content coding br, in pure Go
	github.com/andybalholm/brotli v1.2.8
	// tests: whether what clients saw is a history of a register with compare-and-set
	github.com/anishathalye/porcupine v1.3.1
	// with goxmldsig, XML signatures of CAP messages
	github.com/beevik/etree v1.8.1
	// certificates by ACME: accounts, challenges, renewal information (ARI), locks; autocert of
	// x/crypto has no ARI and runs in one process
	github.com/caddyserver/certmagic v0.25.6
	// tests: the official reader of CloudEvents
	github.com/cloudevents/sdk-go/v2 v2.16.2
	// WebSockets of sources: small, no dependencies, contexts instead of deadlines
	github.com/coder/websocket v1.8.15
	// OpenID Connect: discovery and claims of ID tokens; our own code fetches the keys, within
	// limits
	github.com/coreos/go-oidc/v3 v3.21.0
	// MQTT 5 of brokers that push: Eclipse's own client; we reconnect ourselves
	github.com/eclipse/paho.golang v0.23.0
	// tests: logins at the mail server of go-smtp
	github.com/emersion/go-sasl v0.0.0-20241020182733-b788ff22d5a6
	// tests: a mail server in the process, with STARTTLS and logins
	github.com/emersion/go-smtp v0.25.1
	// signatures of an OpenID provider's tokens, RSA and elliptic curves; go-oidc requires it too
	github.com/go-jose/go-jose/v4 v4.1.8
	// JSON by RFC 8259: duplicate members and invalid UTF-8 are errors, names are case-sensitive;
	// the coming standard library
	github.com/go-json-experiment/json v0.0.0-20260820222146-c27c302e5fc3
	// passkeys (Web Authentication Level 3): reading and checking of answers, in pure Go
	github.com/go-webauthn/webauthn v0.18.2
	// tests: readable differences
	github.com/google/go-cmp v0.7.0
	// UUIDs of versions 4, 5 and 7
	github.com/google/uuid v1.6.0
	// PostgreSQL: the whole protocol, several hosts and their roles, notifications; used through
	// database/sql
	github.com/jackc/pgx/v5 v5.11.0
	// gzip, zstd and Snappy, faster than the standard library's
	github.com/klauspost/compress v1.20.3
	// tests: a real ACME server in the process
	github.com/letsencrypt/pebble/v2 v2.10.1
	// buckets of any S3-compatible service: 2.1 MB of the binary; the SDK of AWS takes 4.6 MB and
	// by default sends checksums that other services refuse
	github.com/minio/minio-go/v7 v7.4.1
	// tests: a reader of Atom and RSS feeds
	github.com/mmcdole/gofeed v1.4.2
	// tests: an MQTT 5 broker in the process
	github.com/mochi-mqtt/server/v2 v2.7.9
	// the Model Context Protocol over HTTP and standard input: the official SDK
	github.com/modelcontextprotocol/go-sdk v1.8.0
	// Parquet files, in pure Go
	github.com/parquet-go/parquet-go v0.32.0
	// geometry in pure Go: WKT, WKB, validity, centroid
	github.com/peterstace/simplefeatures v0.54.0
	// metrics: 2.6 MB of the binary; VictoriaMetrics' library takes 0.5 MB, but has its own
	// histograms, no registries, and no metrics of connection pools
	github.com/prometheus/client_golang v1.25.0
	// tests: the parser of metrics
	github.com/prometheus/common v0.72.0
	// tests: commands as scripts (testscript)
	github.com/rogpeppe/go-internal v1.16.0
	// CORS by the Fetch standard
	github.com/rs/cors v1.11.1
	// XML signatures of CAP messages, in pure Go, as most SAML software uses; tests compare it
	// with xmlsec1
	github.com/russellhaering/goxmldsig v1.6.1
	// tests: answers against the schemas of the OpenAPI document, JSON Schema 2020-12
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3
	// progress bars of imports, exports and backups
	github.com/schollz/progressbar/v3 v3.19.1
	// QR codes of pages: a bitmap, nothing else is needed
	github.com/skip2/go-qrcode v0.0.0-20200617195104-da1b6568686e
	// with rasterx, SVG icons to pixels, in pure Go
	github.com/srwiley/oksvg v0.0.0-20221011165216-be6e8873101c
	// with oksvg, SVG icons to pixels, in pure Go
	github.com/srwiley/rasterx v0.0.0-20220730225603-2ab79fcdd4ef
	// signatures of webhooks: the reference library of the specification; no dependencies
	github.com/standard-webhooks/standard-webhooks/libraries v0.0.1
	// tests: the document is OpenAPI 3.1, and its examples fit its schemas; no dependencies but
	// jsonschema and YAML
	github.com/sv-tools/openapi v1.4.0
	// the places of a million subscriptions: an R-tree that can be changed, 32 bytes per entry;
	// that of internal/geo is built once
	github.com/tidwall/rtree v1.10.0
	// how easy a password is to guess, by phrases and names (zxcvbn); ready at once, where other ports
	// parse their tables for 0.1 s at each start
	github.com/trustelem/zxcvbn v1.0.1
	// email: MIME, header encodings, SMTP with STARTTLS and logins; depends on golang.org/x only;
	// we keep the connections, and close them when a context ends
	github.com/wneessen/go-mail v0.8.1
	// coordinates in UTM and national grids, in pure Go
	github.com/wroge/wgs84 v1.1.7
	// tests: a real OpenID provider in the process, certified by the OpenID Foundation
	github.com/zitadel/oidc/v3 v3.51.17
	// the logger that certmagic requires; ours discards everything
	go.uber.org/zap v1.28.0
	// the configuration file, scenarios of drills; no dependencies, line numbers for errors
	go.yaml.in/yaml/v4 v4.0.0
	// argon2id
	golang.org/x/crypto v0.58.0
	// rasterizing, letters of the contact sheet of symbols
	golang.org/x/image v0.47.0
	// tests: go.mod, and the archive of a module as a proxy serves it
	golang.org/x/mod v0.41.0
	// HTTP/2 frame by frame, international host names (idna), HTML in the texts of feeds, names of
	// character sets
	golang.org/x/net v0.62.0
	// the authorization code flow with PKCE
	golang.org/x/oauth2 v0.37.0
	// errgroup: goroutines with an owner; singleflight: one call for many callers
	golang.org/x/sync v0.24.0
	// the socket option that closes a connection whose other end is dead; tests: the call that
	// cuts a file system's power
	golang.org/x/sys v0.49.0
	// passwords typed without echo
	golang.org/x/term v0.47.0
	// Unicode forms of user names, character sets of feeds, matching of languages
	golang.org/x/text v0.43.0
	// rate limits of requests
	golang.org/x/time v0.16.0
	// the encoding of vector tiles (protowire only); the metrics bring it anyway
	google.golang.org/protobuf v1.36.12
	// calling conventions of modernc.org/sqlite, for the checksums of pages; always the version
	// that the driver requires
	modernc.org/libc v1.77.1
	// SQLite in pure Go; 1.60.1 has SQLite 3.53.4, without the WAL-reset fault of versions before
	// 3.51.3
	modernc.org/sqlite v1.60.1
	// tests: properties that hold in any order
	pgregory.net/rapid v1.3.0
)

require (
	github.com/caddyserver/zerossl v0.1.6 // indirect
	github.com/google/jsonschema-go v0.4.3 // indirect
	github.com/jonboulle/clockwork v0.5.0 // indirect
	github.com/json-iterator/go v1.1.12 // indirect
	github.com/letsencrypt/challtestsrv v1.4.2 // indirect
	github.com/libdns/libdns v1.1.1 // indirect
	github.com/mholt/acmez/v3 v3.1.7 // indirect
	github.com/miekg/dns v1.1.73 // indirect
	github.com/mmcdole/goxpp/v2 v2.0.0 // indirect
	github.com/modern-go/concurrent v0.0.0-20180306012644-bacd9c7ef1dd // indirect
	github.com/modern-go/reflect2 v1.0.2 // indirect
	github.com/parquet-go/bitpack v1.0.0 // indirect
	github.com/parquet-go/jsonlite v1.0.0 // indirect
	github.com/pierrec/lz4/v4 v4.1.21 // indirect
	github.com/segmentio/asm v1.1.3 // indirect
	github.com/segmentio/encoding v0.5.4 // indirect
	github.com/tidwall/geoindex v1.7.0 // indirect
	github.com/twpayne/go-geom v1.6.1 // indirect
	github.com/yosida95/uritemplate/v3 v3.0.2 // indirect
	github.com/zeebo/blake3 v0.2.4 // indirect
	go.uber.org/multierr v1.11.0 // indirect
	go.uber.org/zap/exp v0.3.0 // indirect
)

require (
	github.com/beorn7/perks v1.0.1 // indirect
	github.com/bmatcuk/doublestar/v4 v4.10.4 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/dlclark/regexp2 v1.11.0 // indirect
	github.com/dustin/go-humanize v1.0.1 // indirect
	github.com/fxamacker/cbor/v2 v2.9.4 // indirect
	github.com/go-chi/chi/v5 v5.5.0 // indirect
	github.com/go-logr/logr v1.4.4 // indirect
	github.com/go-logr/stdr v1.2.2 // indirect
	github.com/go-viper/mapstructure/v2 v2.5.0 // indirect
	github.com/go-webauthn/x v0.3.1 // indirect
	github.com/golang-jwt/jwt/v5 v5.3.1 // indirect
	github.com/google/go-tpm v0.9.8 // indirect
	github.com/gorilla/securecookie v1.1.2 // indirect
	github.com/gorilla/websocket v1.5.3 // indirect
	github.com/jackc/pgpassfile v1.0.0 // indirect
	github.com/jackc/pgservicefile v0.0.0-20240606120523-5a60cdf6a761 // indirect
	github.com/jackc/puddle/v2 v2.2.2 // indirect
	github.com/klauspost/cpuid/v2 v2.4.0 // indirect
	github.com/klauspost/crc32 v1.3.0 // indirect
	github.com/mattn/go-isatty v0.0.24 // indirect
	github.com/minio/crc64nvme v1.1.1 // indirect
	github.com/minio/md5-simd v1.1.2 // indirect
	github.com/mitchellh/colorstring v0.0.0-20190213212951-d06e56a500db // indirect
	github.com/muhlemmer/gu v0.3.1 // indirect
	github.com/muhlemmer/httpforwarded v0.1.0 // indirect
	github.com/munnerz/goautoneg v0.0.0-20191010083416-a7dc8b61c822 // indirect
	github.com/ncruces/go-strftime v1.0.0 // indirect
	github.com/philhofer/fwd v1.2.0 // indirect
	github.com/prometheus/client_model v0.6.3 // indirect
	github.com/prometheus/procfs v0.22.0 // indirect
	github.com/remyoudompheng/bigfft v0.0.0-20230129092748-24d4a6f8daec // indirect
	github.com/rivo/uniseg v0.4.7 // indirect
	github.com/rs/xid v1.6.0 // indirect
	github.com/test-go/testify v1.1.4 // indirect
	github.com/tinylib/msgp v1.6.4 // indirect
	github.com/x448/float16 v0.8.4 // indirect
	github.com/zeebo/xxh3 v1.1.0 // indirect
	github.com/zitadel/schema v1.3.2 // indirect
	go.opentelemetry.io/auto/sdk v1.2.1 // indirect
	go.opentelemetry.io/otel v1.46.0 // indirect
	go.opentelemetry.io/otel/metric v1.46.0 // indirect
	go.opentelemetry.io/otel/trace v1.46.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/tools v0.51.0 // indirect
	gopkg.in/ini.v1 v1.67.3 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
	modernc.org/mathutil v1.7.1 // indirect
	modernc.org/memory v1.12.1 // indirect
)
