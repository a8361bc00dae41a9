package subscription

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"golang.org/x/text/language"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/query"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/tell"
	"github.com/hazardd/hazardd/internal/tell/channel"
)

// Where holds the places of a subscription: hazards matter at any of them. Without Where, they matter
// in the whole world.
type Where struct {
	Areas   jsontext.Value `json:"areas,omitzero"` // a GeoJSON geometry
	Points  []Point        `json:"points,omitzero"`
	Regions []string       `json:"regions,omitzero"` // ISO 3166-1 or 3166-2
	Assets  *Assets        `json:"assets,omitzero"`
}

// Assets refers to the places that an organization has loaded, as of each change of a hazard. The owner
// of the subscription must be a member.
type Assets struct {
	Organization string  `json:"organization"` // its acronym
	Within       float64 `json:"within_km"`    // how far from the hazard they may be; 0 for inside
}

// Point is a place in degrees WGS 84, and how far from it hazards matter.
type Point struct {
	Name   string  `json:"name,omitzero"` // the subscriber's name for it
	Lon    float64 `json:"lon"`
	Lat    float64 `json:"lat"`
	Radius float64 `json:"radius_km"`
}

// Quiet is the local time of day, from From until before To, in which a subscriber wants no messages
// but those of the severity Except or worse.
type Quiet struct {
	From   string          `json:"from"` // 22:00
	To     string          `json:"to"`
	Except hazard.Severity `json:"except,omitzero"` // default WARNING
}

// Digest is how messages are combined.
type Digest string

// The digests.
const (
	NoDigest     Digest = "none"
	DailyDigest  Digest = "daily"  // at 08:00
	WeeklyDigest Digest = "weekly" // on Mondays, at 08:00
)

// digestHour is the local hour of digests.
const digestHour = 8

// ChannelStatus says whether a channel is used.
type ChannelStatus string

// The states of a channel.
const (
	Unconfirmed ChannelStatus = "unconfirmed" // the owner of the address has not confirmed it
	Active      ChannelStatus = "active"
	Suspended   ChannelStatus = "suspended" // by the service: Reason says why
)

// Channel is a channel of a subscription, without the address.
type Channel struct {
	ID        string         `json:"id"`
	Kind      string         `json:"kind"`
	Template  string         `json:"template,omitzero"`
	Lane      string         `json:"lane"`  // the server that its messages go to
	Stamp     string         `json:"stamp"` // keyed hash of the address
	inbox     string         // keyed hash of the inbox that the address leads to; only while a request is handled
	Status    ChannelStatus  `json:"status"`
	Reason    string         `json:"reason,omitzero"`
	Confirmed hazard.Instant `json:"confirmed,omitzero"` // when
	Asked     hazard.Instant `json:"asked,omitzero"`     // when a code was sent; later ones are the same until it is void
	Tries     int            `json:"tries,omitzero"`     // wrong codes since then
	PushKey   string         `json:"push_key,omitzero"`  // of Web Push: the server's public key that the browser knows
}

// maxTries is how many wrong codes make a code void.
const maxTries = 5

// awaitsCode reports whether a code that was sent to the address of a channel still confirms it.
func (c *Channel) awaitsCode(now hazard.Instant) bool {
	return c.Status == Unconfirmed && c.Asked > 0 && c.Asked.Add(confirmLife) > now && c.Tries < maxTries
}

// kept is the stored form of a subscription, except for its addresses.
type kept struct {
	Name       string            `json:"name"`
	Where      *Where            `json:"where,omitzero"`
	Hazard     uuid.UUID         `json:"hazard,omitzero"` // the only hazard that it is about; see follow.go
	OfDrafts   bool              `json:"drafts,omitzero"` // only changes that wait for a second person; see drafts.go
	Types      []hazard.Type     `json:"types,omitzero"`
	Categories []hazard.Category `json:"categories,omitzero"`
	Severity   hazard.Severity   `json:"severity_min,omitzero"`
	Measure    string            `json:"measure,omitzero"`
	People     int64             `json:"people_min,omitzero"`
	Drills     bool              `json:"drills,omitzero"`
	Channels   []Channel         `json:"channels"`
	Language   string            `json:"language,omitzero"`
	Zone       string            `json:"time_zone,omitzero"`
	Quiet      *Quiet            `json:"quiet,omitzero"`
	Digest     Digest            `json:"digest,omitzero"`
	Paused     bool              `json:"paused,omitzero"`
	Created    hazard.Instant    `json:"created"`
	Updated    hazard.Instant    `json:"updated"`
}

// Subscription is a subscription as its owner sees it.
type Subscription struct {
	ID         string            `json:"id"`
	Owner      string            `json:"owner,omitzero"`
	Name       string            `json:"name"`
	Where      *Where            `json:"where,omitzero"`
	Hazard     uuid.UUID         `json:"hazard,omitzero"` // the only hazard that it is about
	OfDrafts   bool              `json:"drafts,omitzero"` // only changes that wait for a second person
	Types      []hazard.Type     `json:"types"`
	Categories []hazard.Category `json:"categories"`
	Severity   string            `json:"severity_min,omitzero"`
	Measure    string            `json:"measure,omitzero"`
	People     int64             `json:"people_min,omitzero"`
	Drills     bool              `json:"drills"`
	Channels   []ShownChannel    `json:"channels"`
	Language   string            `json:"language,omitzero"`
	Zone       string            `json:"time_zone"`
	Quiet      *Quiet            `json:"quiet,omitzero"`
	Digest     Digest            `json:"digest"`
	Status     string            `json:"status"` // active or paused
	Waiting    int64             `json:"waiting"`
	Created    string            `json:"created"`
	Updated    string            `json:"updated"`
	// Token ends the subscription, by POST /subscriptions/unsubscribe. Only who creates one without an
	// account and without email gets it, once.
	Token string `json:"token,omitzero"`
}

// ShownChannel is a channel as it is shown: with its address to the owner of the subscription, with a
// hash of it to others.
type ShownChannel struct {
	ID        string        `json:"id"`
	Kind      string        `json:"kind"`
	To        string        `json:"to"`
	Template  string        `json:"template,omitzero"`
	Status    ChannelStatus `json:"status"`
	Reason    string        `json:"reason,omitzero"`
	Confirmed string        `json:"confirmed,omitzero"`
}

// subscription is a parsed subscription.
type subscription struct {
	store.Subscription
	kept
	addresses map[string]string // by channel; nil if they are not decrypted
}

func read(s *store.Subscription) (*subscription, error) {
	sub := &subscription{Subscription: *s}
	if err := json.Unmarshal(s.Body, &sub.kept); err != nil {
		return nil, fmt.Errorf("stored subscription %s: %w", s.ID, err)
	}
	return sub, nil
}

// channel returns the channel with that id, or nil.
func (s *subscription) channel(id string) *Channel {
	i := slices.IndexFunc(s.Channels, func(c Channel) bool { return c.ID == id })
	if i < 0 {
		return nil
	}
	return &s.Channels[i]
}

// encode writes the parsed form back to the stored one.
func (s *subscription) encode(k *Key) (err error) {
	if s.Body, err = json.Marshal(&s.kept); err == nil && s.addresses != nil {
		s.Sealed, err = k.close(s.ID, s.addresses)
	}
	return err
}

func (s *subscription) show(addresses bool, waiting int64) Subscription {
	k := &s.kept
	shown := Subscription{ID: s.ID, Owner: s.Owner, Name: k.Name, Where: k.Where, Hazard: k.Hazard, OfDrafts: k.OfDrafts, Types: orNone(k.Types), Categories: orNone(k.Categories), Measure: k.Measure, People: k.People, Drills: k.Drills,
		Language: k.Language, Zone: cmp.Or(k.Zone, "UTC"), Quiet: k.Quiet, Digest: cmp.Or(k.Digest, NoDigest), Status: "active", Waiting: waiting, Created: k.Created.String(), Updated: k.Updated.String(),
		Channels: []ShownChannel{}}
	if k.Severity != hazard.NoSeverity {
		shown.Severity = k.Severity.String()
	}
	if k.Paused {
		shown.Status = "paused"
	}
	for _, c := range k.Channels {
		v := ShownChannel{ID: c.ID, Kind: c.Kind, Template: c.Template, Status: c.Status, Reason: c.Reason, To: "hidden:" + c.Stamp}
		if addresses {
			v.To = s.addresses[c.ID]
		}
		if c.Confirmed > 0 {
			v.Confirmed = c.Confirmed.String()
		}
		shown.Channels = append(shown.Channels, v)
	}
	return shown
}

func orNone[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// request is the body of a creation or a change. Missing members are nil.
type request struct {
	Name       *string         `json:"name"`
	Where      *Where          `json:"where"`
	Hazard     *string         `json:"hazard"`
	OfDrafts   *bool           `json:"drafts"`
	Types      *[]string       `json:"types"`
	Categories *[]string       `json:"categories"`
	Severity   *string         `json:"severity_min"`
	Measure    *string         `json:"measure"`
	People     *int64          `json:"people_min"`
	Drills     *bool           `json:"drills"`
	Channels   *[]askedChannel `json:"channels"`
	Language   *string         `json:"language"`
	Zone       *string         `json:"time_zone"`
	Quiet      *askedQuiet     `json:"quiet"`
	Digest     *Digest         `json:"digest"`
	Status     *string         `json:"status"`
	Confirmed  *bool           `json:"confirmed"` // for admins: all channels are
	Code       *string         `json:"code"`      // that was sent to a new address
}

type askedChannel struct {
	ID       string `json:"id"`
	Kind     string `json:"kind"`
	To       string `json:"to"`
	Template string `json:"template"`
}

type askedQuiet struct {
	From   string `json:"from"`
	To     string `json:"to"`
	Except string `json:"except"`
}

// The limits of a subscription.
const (
	maxPoints    = 100
	maxRadius    = 2000 // km
	maxRegions   = 100
	maxChannels  = 5
	maxAddress   = 2000 // bytes
	maxPositions = 5000 // of areas
	maxWithin    = 300  // km
)

// unset holds the values of members that are not set: what null stands for (RFC 7396).
var unset = map[string]string{"name": `""`, "where": `{}`, "hazard": `""`, "drafts": `false`, "types": `[]`, "categories": `[]`, "severity_min": `""`, "measure": `""`, "people_min": `0`, "drills": `false`, "language": `""`,
	"time_zone": `"UTC"`, "quiet": `{}`, "digest": `"none"`}

// decode parses a body, and replaces null by the value of a member that is not set.
func decode(body []byte) (*request, error) {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(body, &members); err == nil && members != nil {
		for name, value := range members {
			if text, ok := unset[name]; ok && value.Kind() == 'n' {
				members[name] = jsontext.Value(text)
			}
		}
		if body, err = json.Marshal(members); err != nil {
			return nil, err
		}
	}
	return tell.Decode[request](body, "with the members of a subscription")
}

// apply applies the request to sub, and reports all faults at once. fresh holds the channels with new
// addresses.
func (s *Service) apply(r *request, sub *subscription) (fresh []string, err error) {
	bad, k := &hazard.InvalidError{}, &sub.kept
	if tell.Set(&k.Name, r.Name) {
		tell.CheckName(bad, "name", k.Name)
	}
	if r.Where != nil {
		k.Where = s.where(r.Where, sub.Owner, bad)
	}
	if r.Hazard != nil {
		k.follow(*r.Hazard, bad)
	}
	if tell.Set(&k.OfDrafts, r.OfDrafts); k.OfDrafts && (k.Where != nil || k.Hazard != uuid.Nil) {
		bad.Add("drafts", "cannot be combined with where or hazard: it tells of what waits for a second person, and of nothing else")
	}
	if r.Severity != nil {
		k.Severity = severity(*r.Severity, "severity_min", bad)
	}
	k.Types = known(r.Types, k.Types, "types", bad, func(t hazard.Type) bool { _, ok := t.Info(); return ok })
	k.Categories = known(r.Categories, k.Categories, "categories", bad, func(c hazard.Category) bool { _, ok := c.Info(); return ok })
	if tell.Set(&k.Measure, r.Measure) {
		if _, faults := measured(k.Measure); faults != "" {
			bad.Add("measure", "%s", faults)
		}
	}
	if tell.Set(&k.People, r.People) && (k.People < 0 || k.People > 1e10) {
		bad.Add("people_min", "%d is not a number of people", k.People)
	}
	tell.Set(&k.Drills, r.Drills)
	if tell.Set(&k.Language, r.Language) {
		if _, _, err := language.ParseAcceptLanguage(k.Language); err != nil || len(k.Language) > 100 {
			bad.Add("language", "%.60q is not a language of BCP 47, such as de or pt-BR, nor a list of them", k.Language)
		}
	}
	if tell.Set(&k.Zone, r.Zone) {
		if _, err := time.LoadLocation(k.Zone); err != nil || k.Zone == "Local" {
			bad.Add("time_zone", "%.60q is not a time zone of the IANA database, such as Europe/Berlin", k.Zone)
		}
	}
	if r.Quiet != nil {
		k.Quiet = quiet(r.Quiet, bad)
	}
	if tell.Set(&k.Digest, r.Digest) && k.Digest != NoDigest && !k.digested() {
		bad.Add("digest", "%.60q is not one of none, daily, weekly", k.Digest)
	}
	if r.Status != nil {
		if k.Paused = *r.Status == "paused"; !k.Paused && *r.Status != "active" {
			bad.Add("status", "%.60q is neither active nor paused", *r.Status)
		}
	}
	if r.Channels != nil {
		fresh = s.channels(*r.Channels, sub, bad)
	}
	return fresh, bad.Err()
}

func severity(text, field string, bad *hazard.InvalidError) hazard.Severity {
	if text == "" {
		return hazard.NoSeverity
	}
	v, ok := hazard.ParseSeverity(text)
	if !ok {
		bad.Add(field, "%.60q is not a severity", text)
	}
	return v
}

// known returns the words of a vocabulary in a request, sorted and without duplicates, or have if it
// has none.
func known[T ~string](given *[]string, have []T, field string, bad *hazard.InvalidError, ok func(T) bool) []T {
	if given == nil {
		return have
	}
	var list []T
	for _, word := range *given {
		if !ok(T(word)) {
			bad.Add(field, "%.60q is not known", word)
		}
		list = append(list, T(word))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// measured parses the parameter measure of a search.
func measured(text string) (f *query.Filter, faults string) {
	if text == "" {
		return nil, ""
	}
	filter, bad := query.ParseFilter(url.Values{"measure": {text}})
	for _, b := range bad {
		faults += b.Detail
	}
	return &filter, faults
}

func quiet(r *askedQuiet, bad *hazard.InvalidError) *Quiet {
	if *r == (askedQuiet{}) {
		return nil // {} removes quiet hours
	}
	q := &Quiet{From: r.From, To: r.To, Except: hazard.Warning}
	for field, text := range map[string]string{"quiet/from": r.From, "quiet/to": r.To} {
		if _, ok := timeOfDay(text); !ok {
			bad.Add(field, "%.20q is not a time of day, such as 22:00", text)
		}
	}
	if r.From == r.To {
		bad.Add("quiet", "from and to are the same time")
	}
	if r.Except != "" {
		q.Except = severity(r.Except, "quiet/except", bad)
	}
	return q
}

// timeOfDay parses HH:MM as minutes since midnight.
func timeOfDay(text string) (minutes int, ok bool) {
	h, m, found := strings.Cut(text, ":")
	hour, err1 := strconv.Atoi(h)
	minute, err2 := strconv.Atoi(m)
	return hour*60 + minute, found && len(h) == 2 && len(m) == 2 && errors.Join(err1, err2) == nil && hour >= 0 && hour < 24 && minute >= 0 && minute < 60
}

// where checks and normalizes the places of an owner's subscription. It returns nil if there are none.
func (s *Service) where(w *Where, owner string, bad *hazard.InvalidError) *Where {
	tidy := &Where{}
	if a := w.Assets; a != nil {
		if !s.mayKnow(owner, a.Organization) {
			bad.Add("where/assets/organization", "%.60q is not an organization of the subscription's owner; assets are for members only", a.Organization)
		}
		if !(a.Within >= 0 && a.Within <= maxWithin) {
			bad.Add("where/assets/within_km", "%v is not from 0 to %d", a.Within, maxWithin)
		}
		tidy.Assets = a
	}
	if len(w.Areas) > 0 && w.Areas.Kind() != 'n' {
		shape, err := geo.ParseGeoJSON(w.Areas)
		switch {
		case err != nil:
			bad.Add("where/areas", "%v", err)
		case shape.Positions() > maxPositions:
			bad.Add("where/areas", "has %d positions, at most %d are allowed", shape.Positions(), maxPositions)
		}
		tidy.Areas = jsontext.Value(shape.GeoJSON())
	}
	if len(w.Points) > maxPoints {
		bad.Add("where/points", "%d points, at most %d are allowed", len(w.Points), maxPoints)
	}
	for i, p := range w.Points {
		at := fmt.Sprintf("where/points/%d", i)
		if !(p.Lon >= -180 && p.Lon <= 180 && p.Lat >= -90 && p.Lat <= 90) {
			bad.Add(at, "lon %v, lat %v is not a place: expected degrees, lon from -180 to 180 and lat from -90 to 90", p.Lon, p.Lat)
		}
		if !(p.Radius > 0 && p.Radius <= maxRadius) {
			bad.Add(at+"/radius_km", "%v is not from above 0 to %d", p.Radius, maxRadius)
		}
		tell.CheckName(bad, at+"/name", p.Name)
		tidy.Points = append(tidy.Points, p)
	}
	if len(w.Regions) > maxRegions {
		bad.Add("where/regions", "%d regions, at most %d are allowed", len(w.Regions), maxRegions)
		return tidy
	}
	for i, code := range w.Regions {
		code = strings.ToUpper(code)
		if _, _, ok := s.Region(code); !ok {
			bad.Add(fmt.Sprintf("where/regions/%d", i), "%.20q: no area has this ISO 3166 code; there are countries (KE), states of the US (US-MA) and areas of the operator (ISO3166-2.geojson in the folder of the setting areas)", code)
		}
		tidy.Regions = append(tidy.Regions, code)
	}
	slices.Sort(tidy.Regions)
	tidy.Regions = slices.Compact(tidy.Regions)
	if tidy.Areas == nil && tidy.Points == nil && tidy.Regions == nil && tidy.Assets == nil {
		return nil
	}
	return tidy
}

// channels replaces the channels of sub by the requested ones. One with the same kind, template and
// address as before stays as it is: it is confirmed, and its conversations go on.
func (s *Service) channels(asked []askedChannel, sub *subscription, bad *hazard.InvalidError) (fresh []string) {
	if len(asked) == 0 || len(asked) > maxChannels {
		bad.Add("channels", "%d channels; from 1 to %d are taken", len(asked), maxChannels)
		return nil
	}
	last := 0
	for _, c := range sub.Channels {
		n, _ := strconv.Atoi(c.ID)
		last = max(last, n)
	}
	var list []Channel
	addresses := map[string]string{}
	for i, a := range asked {
		at := fmt.Sprintf("channels/%d", i)
		to := channel.Address{Kind: a.Kind, To: strings.TrimSpace(a.To), Template: a.Template}
		switch {
		case !slices.Contains(kinds, a.Kind):
			bad.Add(at+"/kind", "%.20q is not one of %s", a.Kind, strings.Join(kinds, ", "))
			continue
		case to.To == "" && a.Template == "" || len(to.To) > maxAddress || !utf8.ValidString(to.To) || strings.ContainsAny(to.To, "\r\n\x00"):
			bad.Add(at+"/to", "expected an address of at most %d bytes, on one line", maxAddress)
			continue
		}
		if err := s.Sender.Check(to); err != nil {
			bad.Add(at, "%v", err)
			continue
		}
		inbox := s.Key.hash("inbox", channel.Inbox(to))
		stamp := s.Key.hash("address", to.Kind+"\x00"+to.Template+"\x00"+to.To)
		if slices.ContainsFunc(list, func(c Channel) bool { return c.Stamp == stamp }) {
			bad.Add(at, "the same address as another channel")
			continue
		}
		if have := slices.IndexFunc(sub.Channels, func(c Channel) bool { return c.Stamp == stamp }); have >= 0 {
			c := sub.Channels[have]
			c.inbox = inbox
			list, addresses[c.ID] = append(list, c), to.To
			if c.Status != Active {
				fresh = append(fresh, c.ID)
			}
			continue
		}
		last++
		c := Channel{ID: strconv.Itoa(last), Kind: a.Kind, Template: a.Template, Stamp: stamp, inbox: inbox, Lane: s.lane(to), Status: Unconfirmed}
		if c.Kind == channel.WebPush {
			c.PushKey = s.PushKey
		}
		list, addresses[c.ID] = append(list, c), to.To
		fresh = append(fresh, c.ID)
	}
	sub.Channels, sub.addresses = list, addresses
	return fresh
}

// lane names the server that messages to an address go to. Messages to one server wait for each other.
func (s *Service) lane(a channel.Address) string {
	host := ""
	switch a.Kind {
	case channel.HTTP:
		if u, err := url.Parse(a.To); err == nil {
			host = u.Host
		}
		host = a.Template + "\x00" + host
	case channel.WebPush:
		var p struct {
			Endpoint string `json:"endpoint"`
		}
		if json.Unmarshal([]byte(a.To), &p) == nil {
			if u, err := url.Parse(p.Endpoint); err == nil {
				host = u.Host
			}
		}
	}
	if host == "" {
		return a.Kind
	}
	return a.Kind + ":" + s.Key.hash("host", host)
}

// kindOf returns the kind of channel of a lane.
func kindOf(lane string) string {
	kind, _, _ := strings.Cut(lane, ":")
	return kind
}

// location returns the time zone of the subscriber.
func (k *kept) location() *time.Location {
	zone, err := time.LoadLocation(k.Zone)
	if err != nil {
		return time.UTC
	}
	return zone
}

// notBefore returns when a message of a severity may be sent: the first moment from now on at which
// the local clock shows no quiet time. So a night in which the clock skips an hour is as quiet as
// another; in a night that repeats one, a quiet time that ends in that hour ends twice.
func (k *kept) notBefore(now time.Time, sev hazard.Severity) time.Time {
	if k.Quiet == nil || sev >= k.Quiet.Except {
		return now
	}
	from, _ := timeOfDay(k.Quiet.From)
	to, _ := timeOfDay(k.Quiet.To)
	zone := k.location()
	quiet := func(t time.Time) bool {
		local := t.In(zone)
		minute := local.Hour()*60 + local.Minute()
		if from > to {
			return minute >= from || minute < to
		}
		return minute >= from && minute < to
	}
	at := now
	for limit := now.Add(25 * time.Hour); quiet(at) && at.Before(limit); {
		at = at.Truncate(time.Minute).Add(time.Minute)
	}
	return at
}

// digested reports whether messages are combined in digests.
func (k *kept) digested() bool { return k.Digest == DailyDigest || k.Digest == WeeklyDigest }

// nextDigest returns the time of the next digest.
func (k *kept) nextDigest(now time.Time) time.Time {
	local := now.In(k.location())
	for days := 0; ; days++ {
		at := time.Date(local.Year(), local.Month(), local.Day()+days, digestHour, 0, 0, 0, local.Location())
		if at.After(now) && (k.Digest == DailyDigest || at.Weekday() == time.Monday) {
			return at
		}
	}
}
