// Package publisher holds the profile by which an organization publishes its own hazards as an alerting
// authority, and decides which changes of a hazard are CAP messages.
//
// Both are values without clock, store or network. A new profile never changes what was published
// before: each setting is kept with the number of the change after which it applies (Settings.At),
// so a message reads the same forever. A Chain depends only on the changes of one hazard.
package publisher

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"golang.org/x/text/language"

	"github.com/hazardd/hazardd/internal/hazard"
)

// Rules identifies a national or commercial profile of CAP with requirements beyond the OASIS
// standard.
type Rules string

// These are the supported profiles.
const (
	Plain  Rules = "plain"  // CAP 1.2 without further rules
	Google Rules = "google" // Google Public Alerts, CAP requirements
	IPAWS  Rules = "ipaws"  // FEMA's IPAWS profile 1.0
	CAPCP  Rules = "cap-cp" // the Canadian profile
	CAPAU  Rules = "cap-au" // the Australian profile
)

// allRules returns all profiles.
func allRules() []Rules { return []Rules{Plain, Google, IPAWS, CAPCP, CAPAU} }

// Marker returns the value of the code element in messages of the profile; empty if it has none.
func (r Rules) Marker() string {
	return map[Rules]string{IPAWS: "IPAWSv1.0", CAPCP: "profile:CAP-CP:0.4", CAPAU: "urn:oasis:names:tc:emergency:cap:1.2:profile:CAP-AU:1.0"}[r]
}

// MaxPoints returns the maximum number of positions in one polygon, including the repeated first
// one. IPAWS allows 100.
func (r Rules) MaxPoints() int {
	if r == IPAWS {
		return 100
	}
	return 1000
}

// Profile says how an organization publishes. Its JSON form is that of the interface.
type Profile struct {
	Org    int64  `json:"org_ID"`
	Sender string `json:"sender"`       // sender of CAP messages; it identifies the authority, and must not change
	Name   string `json:"name"`         // senderName
	OID    string `json:"oid,omitzero"` // prefix of message identifiers; if empty, they contain the hazard's UUID
	// Contact says how to reach the authority. Web is its page, used for hazards without a page of
	// their own.
	Contact string `json:"contact,omitzero"`
	Web     string `json:"web,omitzero"`
	// Languages are the languages of the messages. hazard_Name and description are in the first;
	// the others are used if a hazard has texts in them.
	Languages []string `json:"languages"`
	Rules     Rules    `json:"profile"`
	// Test gives every message the status Test, whatever the hazard.
	Test bool `json:"test,omitzero"`
	// Paused means that changes are not published. Earlier messages stay.
	Paused       bool          `json:"paused,omitzero"`
	EventCodes   []EventCode   `json:"event_codes,omitzero"`
	AreaCodes    []AreaCode    `json:"area_codes,omitzero"`
	Instructions []Instruction `json:"instructions,omitzero"`
	// RadiusKm is the radius of the circle for a hazard of which only a point is known.
	RadiusKm float64 `json:"radius_km"`
	// OpenHours is how long a message stays valid after the expected end of a hazard that has no
	// fixed end.
	OpenHours int `json:"open_hours"`
}

// EventCode is a code for a hazard type from a list that recipients know.
type EventCode struct {
	Type  hazard.Type `json:"type_ID"`
	Name  string      `json:"name"` // of the list: "SAME", "profile:CAP-CP:Event:0.4"
	Value string      `json:"value"`
}

// AreaCode is a code for an area. Messages that touch its box contain it.
type AreaCode struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	// Within is west, south, east, north in degrees. If west is greater than east, the box crosses
	// the antimeridian. Empty means every message.
	Within []float64 `json:"within,omitzero"`
}

// Instruction tells people what to do about a hazard that has no instructions of its own.
type Instruction struct {
	Type      hazard.Type `json:"type_ID,omitzero"` // empty means every type without its own instruction
	Language  string      `json:"language"`
	Text      string      `json:"text"`
	Responses []string    `json:"response_type,omitzero"` // values of responseType
}

// responses returns the values of responseType (CAP 1.2, section 3.2.2).
func responses() []string {
	return []string{"Shelter", "Evacuate", "Prepare", "Execute", "Avoid", "Monitor", "Assess", "AllClear", "None"}
}

// The defaults, and the bounds.
const (
	DefaultRadiusKm  = 10
	defaultOpenHours = 72
	maxOpenHours     = 720
	maxLanguages     = 8
	maxCodes         = 500
	maxInstructions  = 500
	maxText          = 2000
	// MaxProfile is the maximum length of a profile's JSON, in bytes.
	MaxProfile = 1 << 20
)

// Parse parses and checks a profile of organization org, and fills in defaults. The error is a
// *hazard.InvalidError that lists every fault.
func Parse(org int64, orgName string, text []byte) (*Profile, error) {
	p := &Profile{}
	bad := &hazard.InvalidError{}
	if err := json.Unmarshal(text, p, json.RejectUnknownMembers(true)); err != nil {
		bad.Add("", "the body is not a profile: %s", strings.TrimPrefix(err.Error(), "json: "))
		return nil, bad.Err()
	}
	if p.Org != 0 && p.Org != org {
		bad.Add("org_ID", "is %d, the path names organization %d", p.Org, org)
	}
	p.Org = org
	if p.Name == "" {
		p.Name = orgName
	}
	if p.Rules == "" {
		p.Rules = Plain
	}
	if len(p.Languages) == 0 {
		p.Languages = []string{"en"}
	}
	if p.RadiusKm == 0 {
		p.RadiusKm = DefaultRadiusKm
	}
	if p.OpenHours == 0 {
		p.OpenHours = defaultOpenHours
	}
	p.check(bad)
	return p, bad.Err()
}

var (
	oidForm    = regexp.MustCompile(`^[0-2](\.(0|[1-9][0-9]{0,19})){2,30}$`)
	senderForm = regexp.MustCompile(`^[^\s,<&]{1,200}$`)
)

func (p *Profile) check(bad *hazard.InvalidError) {
	line := func(field, value string, minLetters, maxLetters int) {
		if n := utf8.RuneCountInString(value); n < minLetters || n > maxLetters || hazard.CleanLine(value) != value {
			bad.Add(field, "must be one line of %d to %d characters without blanks around it", minLetters, maxLetters)
		}
	}
	if !senderForm.MatchString(p.Sender) || hazard.CleanLine(p.Sender) != p.Sender {
		bad.Add("sender", "%.60q: expected the address of the authority, such as alerts@met.example.org, without blanks, commas, < and &", p.Sender)
	}
	line("name", p.Name, 1, 200)
	line("contact", p.Contact, 0, 500)
	if p.OID != "" && !oidForm.MatchString(p.OID) {
		bad.Add("oid", "%.60q: expected numbers and dots, such as 2.49.0.0.404.0", p.OID)
	}
	if p.Web != "" {
		if u, err := url.Parse(p.Web); err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || len(p.Web) > hazard.MaxLink {
			bad.Add("web", "%.60q is not an absolute http or https address", p.Web)
		}
	}
	if !slices.Contains(allRules(), p.Rules) {
		bad.Add("profile", "%.60q is not one of plain, google, ipaws, cap-cp, cap-au", p.Rules)
	}
	if !(p.RadiusKm >= 0.1 && p.RadiusKm <= 1000) {
		bad.Add("radius_km", "%v: expected 0.1 to 1000", p.RadiusKm)
	}
	if p.OpenHours < 1 || p.OpenHours > maxOpenHours {
		bad.Add("open_hours", "%d: expected 1 to %d", p.OpenHours, maxOpenHours)
	}
	p.checkLanguages(bad)
	p.checkCodes(bad, line)
	p.checkInstructions(bad)
	p.checkRules(bad)
}

func (p *Profile) checkLanguages(bad *hazard.InvalidError) {
	if len(p.Languages) > maxLanguages {
		bad.Add("languages", "are %d; at most %d are allowed", len(p.Languages), maxLanguages)
	}
	for i, l := range p.Languages {
		if _, err := language.Parse(l); err != nil || l == "" {
			bad.Add(fmt.Sprintf("languages/%d", i), "%.40q is not a language tag such as en or fr-CA", l)
		} else if slices.ContainsFunc(p.Languages[:i], func(o string) bool { return strings.EqualFold(o, l) }) {
			bad.Add(fmt.Sprintf("languages/%d", i), "%q is there twice", l)
		}
	}
}

func (p *Profile) checkCodes(bad *hazard.InvalidError, line func(string, string, int, int)) {
	if n := max(len(p.EventCodes), len(p.AreaCodes)); n > maxCodes {
		bad.Add("event_codes", "there are %d codes; at most %d of events and of areas are taken", n, maxCodes)
		return
	}
	for i, c := range p.EventCodes {
		at := fmt.Sprintf("event_codes/%d/", i)
		if _, ok := c.Type.Info(); !ok {
			bad.Add(at+"type_ID", "%.40q is not a type, see GET /hazards/types", c.Type)
		}
		line(at+"name", c.Name, 1, 200)
		line(at+"value", c.Value, 1, 200)
	}
	for i, c := range p.AreaCodes {
		at := fmt.Sprintf("area_codes/%d/", i)
		line(at+"name", c.Name, 1, 200)
		line(at+"value", c.Value, 1, 200)
		w := c.Within
		if len(w) != 0 && (len(w) != 4 || !(w[0] >= -180 && w[0] <= 180 && w[2] >= -180 && w[2] <= 180 && w[1] >= -90 && w[1] <= w[3] && w[3] <= 90)) {
			bad.Add(at+"within", "%v: expected west, south, east, north in degrees", w)
		}
	}
}

func (p *Profile) checkInstructions(bad *hazard.InvalidError) {
	if len(p.Instructions) > maxInstructions {
		bad.Add("instructions", "are %d; at most %d are allowed", len(p.Instructions), maxInstructions)
		return
	}
	for i, n := range p.Instructions {
		at := fmt.Sprintf("instructions/%d/", i)
		if _, ok := n.Type.Info(); !ok && n.Type != "" {
			bad.Add(at+"type_ID", "%.40q is not a type, see GET /hazards/types", n.Type)
		}
		if !slices.ContainsFunc(p.Languages, func(l string) bool { return strings.EqualFold(l, n.Language) }) {
			bad.Add(at+"language", "%.40q is not one of languages: %s", n.Language, strings.Join(p.Languages, ", "))
		}
		if c := utf8.RuneCountInString(n.Text); c < 1 || c > maxText || hazard.Clean(n.Text) != n.Text {
			bad.Add(at+"text", "must have 1 to %d characters, and no control characters", maxText)
		}
		CheckResponses(bad, at+"response_type", n.Responses)
	}
}

// CheckResponses adds a fault for each word that is not a responseType, or that is repeated.
func CheckResponses(bad *hazard.InvalidError, field string, words []string) {
	for i, w := range words {
		if !slices.Contains(responses(), w) {
			bad.Add(field, "%.40q is not one of %s", w, strings.Join(responses(), ", "))
			return
		}
		if slices.Contains(words[:i], w) {
			bad.Add(field, "%q is there twice", w)
			return
		}
	}
}

// checkRules checks that every message will meet the requirements of the profile's Rules.
func (p *Profile) checkRules(bad *hazard.InvalidError) {
	needsCode := func(field, name string, have bool) {
		if !have {
			bad.Add(field, "the profile %s needs at least one with the name %q", p.Rules, name)
		}
	}
	event := func(name string) bool {
		return slices.ContainsFunc(p.EventCodes, func(c EventCode) bool { return c.Name == name })
	}
	area := func(name string) bool {
		return slices.ContainsFunc(p.AreaCodes, func(c AreaCode) bool { return c.Name == name && len(c.Within) == 0 })
	}
	switch p.Rules {
	case Google:
		if p.Contact == "" {
			bad.Add("contact", "is missing: the profile google asks for one in every message")
		}
		for _, l := range p.Languages {
			if p.Instruction("", l) == nil {
				bad.Add("instructions", "the profile google asks for an instruction in every message: add one without type_ID for the language %s", l)
			}
		}
	case IPAWS:
		needsCode("event_codes", "SAME", event("SAME"))
		if !area("SAME") {
			bad.Add("area_codes", `the profile ipaws needs at least one with the name "SAME" and without within, so that every message has it`)
		}
		for i, c := range p.EventCodes {
			if c.Name == "SAME" && len(c.Value) != 3 {
				bad.Add(fmt.Sprintf("event_codes/%d/value", i), "%q: a SAME code has three letters", c.Value)
			}
		}
	case CAPCP:
		needsCode("event_codes", "profile:CAP-CP:Event:0.4", event("profile:CAP-CP:Event:0.4"))
		if !area("profile:CAP-CP:Location:0.3") {
			bad.Add("area_codes", `the profile cap-cp needs at least one with the name "profile:CAP-CP:Location:0.3" and without within, so that every message has it`)
		}
	case CAPAU:
		if len(p.EventCodes) == 0 {
			bad.Add("event_codes", "the profile cap-au needs the codes of the Australian event list")
		}
	}
}

// Instruction returns the instruction for a hazard type in a language; nil if the profile has none.
func (p *Profile) Instruction(t hazard.Type, lang string) *Instruction {
	var found *Instruction
	for i := range p.Instructions {
		n := &p.Instructions[i]
		if !strings.EqualFold(n.Language, lang) {
			continue
		}
		if n.Type == t {
			return n
		}
		if n.Type == "" && found == nil {
			found = n
		}
	}
	return found
}

// Setting is a profile, and the number of the change after which it applies; 0 means from the
// beginning.
type Setting struct {
	After   int64
	Profile *Profile
}

// Settings has all settings of each organization, in the order of After.
type Settings map[int64][]Setting

// At returns the profile for the message of change n of an organization; nil if the organization
// did not publish then. Changes before the first setting use the first one, since nobody has seen a
// message before it.
func (s Settings) At(org, n int64) *Profile {
	var p *Profile
	for _, x := range s[org] {
		if x.After >= n && p != nil {
			break
		}
		p = x.Profile
	}
	if p == nil || p.Paused {
		return nil
	}
	return p
}

// resumed returns the first profile that publishes again after change n, while which an organization
// had paused, and the number of the change after which it applies; nil if there is none.
func (s Settings) resumed(org, n int64) (after int64, p *Profile) {
	for _, x := range s[org] {
		if x.After >= n && !x.Profile.Paused {
			return x.After, x.Profile
		}
	}
	return 0, nil
}

// Now returns the current profile of an organization; nil if it has none.
func (s Settings) Now(org int64) *Profile {
	if all := s[org]; len(all) > 0 {
		return all[len(all)-1].Profile
	}
	return nil
}

// Summary returns the profile in one line, for the audit trail.
func (p *Profile) Summary() string {
	state := "publishing"
	if p.Paused {
		state = "paused"
	}
	return fmt.Sprintf("%s as %s, profile %s, languages %s", state, p.Sender, p.Rules, strings.Join(p.Languages, ", "))
}
