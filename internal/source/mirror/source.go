package mirror

import (
	"cmp"
	"strings"
	"time"

	"github.com/hazardd/hazardd/client"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/source"
)

// Name is the name of the source where none is configured.
const Name = "mirror"

// Every is how often the list is asked for: the original server's users pace themselves at a request a second (spec, "How clients
// suffer"), and where the server gives an ETag an unchanged list costs nothing.
const Every = time.Minute

// Source describes the server at a base address as the source with that name. An empty address is for
// payloads from files alone; title and every may be zero. schemes say which names of events are believed.
func Source(name, title, address string, every time.Duration, schemes source.Schemes) source.Source {
	s := source.Source{
		Name: name, Title: cmp.Or(title, "Hazards of another server"), Warns: true,
		Parse: func(payload []byte, now hazard.Instant) (source.Batch, error) {
			return Parse(payload, name, schemes, now)
		},
		Covers:  "active hazards of another server of the base interface, and their products",
		License: "of each hazard's own source", Attribution: cmp.Or(title, name),
		Rank:     source.Ranks{"": source.Relay},
		Coverage: []source.Coverage{{Role: source.RoleUnknown, Cite: "the other server does not say what it covers"}},
		// The list is complete by the interface, and says of each hazard that is missing how it ended where it can be asked.
		Absence: source.AbsenceEnds,
	}
	if address != "" {
		s.Feeds = []source.Feed{{URL: strings.TrimRight(address, "/") + "/hazards/active", Every: cmp.Or(every, Every), MaxBytes: client.DefaultMaxBody}}
	}
	return s
}
