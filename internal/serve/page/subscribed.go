package page

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/lang/words"
)

// Subscribed is the page that a link in a message leads to. It asks before it does anything,
// because mail scanners follow links, and then shows the result.
type Subscribed struct {
	Frame
	Path string // path of the page, below Root
	Deed Deed
	// Done reports that the action of the page has been done.
	Done bool
	// Gone reports that the link leads to no subscription, or to one that was deleted.
	Gone bool
	// Change is the path for changes of the subscription, below Root. Saved reports that it was
	// changed. Wrong says why it was not changed.
	Change string
	Saved  bool
	Wrong  string
	// Subscription is the subscription to manage; nil if the page is for another action.
	Subscription *Subscription
	Now          hazard.Instant
}

// Deed is the action of a page's button.
type Deed string

// The values of Deed.
const (
	ToConfirm Deed = "confirm" // confirm that messages come to an address
	ToEnd     Deed = "end"     // stop the messages
)

// Subscription is a subscription as its page shows it, with only the channel that the link belongs
// to.
type Subscription struct {
	Name     string
	Address  string // empty: not shown
	Status   string // of the channel: "active", "unconfirmed" or "suspended"
	Paused   bool
	Places   []Place // none: the whole world
	Area     bool    // some areas are drawn on the map
	Assets   string  // acronym of the organization whose assets are watched; empty: none
	Within   float64 // distance from those assets, km
	Types    []string
	Category []string
	Severity string // the lowest severity; empty: all
	Language string // one or several BCP 47 tags; empty: none is chosen
	People   int64  // minimum number of people; 0: any number
	Drills   bool
	Digest   string // "none", "daily" or "weekly"
	From, To string // quiet hours; empty: none
	Except   string // severity that is sent even in quiet hours
	Zone     string // IANA name of the time zone
	Messages []Message
}

// Place is a place of a subscription: an ISO 3166 code, or a name with a distance in km.
type Place struct {
	Name     string
	Lat, Lon float64
	Radius   float64 // 0: the place is a code
}

// Message is a message that was sent.
type Message struct {
	At   hazard.Instant
	Text string
}

type subscribedView struct {
	*Subscribed
	Ref      string
	ChangeTo string // where the forms for changes are sent
	Title    string
	Facts    []labeled
	Messages []sent
	// These are the choices of the form.
	Languages, Levels, Often, Except []choice
	Radii                            []radius
}

type labeled struct {
	Label  string
	Values []string
}

// choice is one of the values to choose from.
type choice struct {
	Value, Name string
	Chosen      bool
}

// radius is the distance around a place within which hazards matter, as the form gives it.
type radius struct{ Place, Km string }

type sent struct {
	At   moment
	Text string
}

// HTML returns the page.
func (s *Subscribed) HTML() ([]byte, error) {
	v := &subscribedView{Subscribed: s, Ref: s.Root + s.Path, ChangeTo: s.Root + s.Change}
	switch {
	case s.Gone:
		v.Title = s.say("subGone")
	case s.Deed == ToConfirm:
		v.Title = s.say("notice.subjectConfirm")
	case s.Subscription != nil:
		v.Title = s.say("subTitle")
	default:
		v.Title = s.say("notice.unsubscribe")
	}
	if s.Subscription != nil {
		v.Facts = s.facts(s.Subscription)
		v.choices(s.Subscription)
		for _, m := range s.Subscription.Messages {
			v.Messages = append(v.Messages, sent{s.at(m.At, s.Now), m.Text})
		}
	}
	return execute(s.language(), "subscribed.html", v)
}

// choices fills the form for changes.
func (v *subscribedView) choices(s *Subscription) {
	// A current value stays selected even if the form does not offer it.
	choose := func(chosen string, all ...choice) []choice {
		i := slices.IndexFunc(all, func(c choice) bool { return c.Value == chosen })
		if i < 0 {
			return append([]choice{{chosen, cmp.Or(chosen, "–"), true}}, all...)
		}
		all[i].Chosen = true
		return all
	}
	var languages []choice
	for _, l := range words.All() {
		languages = append(languages, choice{l.ID, l.Name, false})
	}
	var levels []choice
	for _, level := range []hazard.Severity{hazard.Warning, hazard.Watch, hazard.Advisory, hazard.Information} {
		levels = append(levels, choice{level.String(), v.language().NameOf("severity", level.String()), false})
	}
	v.Languages = choose(s.Language, languages...)
	v.Except = choose(cmp.Or(s.Except, hazard.Warning.String()), slices.Clone(levels)...)
	v.Levels = choose(s.Severity, append(levels, choice{"", v.say("subAll"), false})...)
	v.Often = choose(s.Digest, choice{"none", v.say("subAtOnce"), false}, choice{"daily", v.say("subDaily"), false}, choice{"weekly", v.say("subWeekly"), false})
	for _, p := range s.Places {
		if p.Radius > 0 {
			v.Radii = append(v.Radii, radius{p.label(), strconv.FormatFloat(p.Radius, 'f', -1, 64)})
		}
	}
}

// label names a point.
func (p *Place) label() string {
	return cmp.Or(p.Name, strconv.FormatFloat(p.Lat, 'f', -1, 64)+", "+strconv.FormatFloat(p.Lon, 'f', -1, 64))
}

func (f *Frame) facts(s *Subscription) (all []labeled) {
	add := func(label string, values ...string) {
		if len(values) > 0 && values[0] != "" {
			all = append(all, labeled{f.say(label), values})
		}
	}
	names := func(kind string, ids []string) (list []string) {
		for _, id := range ids {
			list = append(list, f.language().NameOf(kind, id))
		}
		return list
	}
	add("subName", s.Name)
	add("subAddress", s.Address)
	var places []string
	for _, p := range s.Places {
		if p.Radius == 0 {
			places = append(places, p.Name)
			continue
		}
		places = append(places, f.say("subAround", "place", "\u2068"+p.label()+"\u2069", "km", number(p.Radius, 1)))
	}
	if s.Area {
		places = append(places, f.say("subArea"))
	}
	if s.Assets != "" {
		places = append(places, f.say("subAssets", "organization", "\u2068"+s.Assets+"\u2069", "km", number(s.Within, 1)))
	}
	if places == nil {
		places = []string{f.say("subWorld")}
	}
	add("subPlaces", places...)
	add("type", names("type", s.Types)...)
	add("category", names("category", s.Category)...)
	if s.Severity != "" {
		add("subLeast", f.language().NameOf("severity", s.Severity))
	}
	if s.People > 0 {
		add("subPeople", f.grouped(s.People))
	}
	if s.Drills {
		add("exerciseLabel", f.say("yes"))
	}
	often := "subAtOnce"
	switch s.Digest {
	case "daily":
		often = "subDaily"
	case "weekly":
		often = "subWeekly"
	}
	add("subOften", f.say(often))
	if s.From != "" {
		add("subQuiet", f.say("subQuietFrom", "from", s.From, "to", s.To, "level", f.language().NameOf("severity", s.Except)))
	}
	add("subZone", s.Zone)
	return all
}
