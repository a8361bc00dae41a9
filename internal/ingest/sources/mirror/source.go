package mirror

import (
	"cmp"
	"strings"
	"time"

	"github.com/hazardd/hazardd/client"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// Name is the name of the source if none is configured.
const Name = "mirror"

// Every is the interval between two reads of the list. Users of the original server limit
// themselves to one request per second (spec, "How clients suffer"), and if the server sends an
// ETag, an unchanged list costs nothing.
const Every = time.Minute

// Fastest is the interval while the list changes, if none is configured: far below that limit.
const Fastest = 30 * time.Second

// Source describes the server at a base address as the source with that name. With an empty
// address, payloads only come from files; title, every and fastest may be zero. schemes are the accepted
// schemes of events' names.
func Source(name, title, address string, every, fastest time.Duration, schemes source.Schemes) source.Source {
	s := source.Source{
		Name: name, Title: cmp.Or(title, "Hazards of another server"), Warns: true,
		Parse: func(payload []byte, now hazard.Instant) (source.Batch, error) {
			return Parse(payload, name, schemes, now)
		},
		Covers:  "active hazards of another server of the base interface, and their products",
		License: "of each hazard's own source", Attribution: cmp.Or(title, name),
		Rank:     source.Ranks{"": source.Relay},
		Coverage: []source.Coverage{{Role: source.RoleUnknown, Cite: "the other server does not say what it covers"}},
		// By the interface, the list is complete. The mirror asks for each missing hazard how it
		// ended, if the server supports that.
		Lists: source.Lists{Complete: source.Yes, Confirm: 1, Identity: "UUID", NoEnd: "as `autoexpire` says",
			Cite: "base interface: GET /hazards/active holds all active hazards"},
	}
	if every == 0 { // a stated interval is never undercut, unless fastest says so
		every, fastest = Every, cmp.Or(fastest, Fastest)
	}
	if address != "" {
		s.Feeds = []source.Feed{{URL: strings.TrimRight(address, "/") + "/hazards/active", Every: every, Fastest: fastest, MaxBytes: client.DefaultMaxBody}}
	}
	return s
}
