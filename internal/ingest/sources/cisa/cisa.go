// Package cisa reads the catalog of known exploited vulnerabilities of the United States' agency for
// cyber security (cisa.gov/known-exploited-vulnerabilities-catalog).
//
// The event is a vulnerability, by its CVE number. Each is INFORMATION: the catalog has no level. It
// has no place either; the agency speaks to the United States, which stand for it. An entry counts
// for two weeks after it was added, and is no end of the danger. Entries change without a time, so
// the version is the time of reading.
//
// Parse is a pure function, safe for concurrent use, and needs memory proportional to the payload.
package cisa

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// Name is the source's name in reports.
const Name = "cisa"

// life is how long an entry counts after it was added. Agencies of the United States mostly have two
// or three weeks to act.
const life = 14 * 24 * time.Hour

// Source describes the source. Entries are added on working days.
func Source() source.Source {
	return source.Source{
		Name: Name, Title: "CISA known exploited vulnerabilities", Parse: Parse,
		Feeds:  []source.Feed{{URL: "https://www.cisa.gov/sites/default/files/feeds/known_exploited_vulnerabilities.json", Every: 2 * time.Hour, MaxBytes: 32 << 20, Messages: true}},
		Off:    "it has neither place nor level, and adds about 20 entries a month",
		Covers: "vulnerabilities of software that are used in attacks, for two weeks after they were added",
		Types:  []hazard.Type{hazard.Cyber}, Countries: []string{"US"}, Languages: []string{"en"},
		Home:    "https://www.cisa.gov/known-exploited-vulnerabilities-catalog",
		License: "CC0-1.0", Attribution: "CISA",
		Rank:       source.Ranks{hazard.Cyber: source.Specialist},
		Coverage:   []source.Coverage{{Role: source.RoleUnknown, Cite: "the catalog has what is known to be exploited, and not each attack"}},
		Lists:      source.Lists{Identity: "CVE number", NoEnd: "two weeks after it was added", Cite: "eight recorded states, July and August 2026: no entry ends"},
		PlaceCodes: "ISO3166-1",
		Lives:      []source.Life{{Of: "a vulnerability, after it was added", For: life}},
	}
}

// entry is a vulnerability.
type entry struct {
	CVE        string `json:"cveID"` // "CVE-2026-12345"
	Vendor     string `json:"vendorProject"`
	Product    string `json:"product"`
	Title      string `json:"vulnerabilityName"`
	Added      string `json:"dateAdded"` // a day, as Due
	Due        string `json:"dueDate"`
	Text       string `json:"shortDescription"`
	Action     string `json:"requiredAction"`
	Ransomware string `json:"knownRansomwareCampaignUse"` // Known or Unknown
}

var cveForm = regexp.MustCompile(`^CVE-[0-9]{4}-[0-9]{4,12}$`)

// Parse reads the catalog as of now. The error is a *source.PayloadError. If its Cut is true, the
// records before the error are good.
func Parse(payload []byte, now hazard.Instant) (source.Batch, error) {
	b := lenient.Batch{
		ID:     func(raw []byte) string { return lenient.Word(lenient.Member(raw, "cveID")) },
		Events: lenient.OneEvent(cveForm),
	}
	doc, err := lenient.Collection{Want: "known exploited vulnerabilities", Lists: []string{"vulnerabilities"}, Heads: lenient.Complaints}.Read(payload, func(where func() string, raw []byte) {
		lenient.Record(&b, where, raw, func(e *entry) (*hazard.Report, string) { return e.report(now) })
	})
	if err == nil && doc.Listed == "" {
		err = source.Errorf("no catalog: %s, expected the member vulnerabilities", lenient.ExcerptText(doc.Complaint()))
	}
	b.Current = true
	return b.Done(), err
}

// report converts an entry. It returns a reason if it is old, or rejected.
func (e *entry) report(now hazard.Instant) (*hazard.Report, string) {
	key := strings.ToUpper(strings.TrimSpace(e.CVE))
	if !cveForm.MatchString(key) {
		return nil, fmt.Sprintf("cveID: %q, expected a number such as CVE-2026-12345", lenient.ExcerptText(e.CVE))
	}
	day, err := time.Parse(time.DateOnly, strings.TrimSpace(e.Added))
	if err != nil {
		return nil, fmt.Sprintf("dateAdded: %q, expected a day such as 2026-08-07", lenient.ExcerptText(e.Added))
	}
	start := hazard.At(day)
	if start.Add(life) <= now {
		return nil, source.Ignoring + "a vulnerability that was added more than two weeks ago"
	}
	product := lenient.Clip(hazard.CleanLine(lenient.Joined(" ", e.Vendor, e.Product)), 150)
	r := &hazard.Report{
		Source: Name, Key: key, Version: int64(now), Type: hazard.Cyber, Severity: hazard.Information, Category: hazard.Event, Start: start, LifeMS: life.Milliseconds(),
		Name: "Exploited vulnerability - " + cmp.Or(lenient.Clip(hazard.CleanLine(e.Title), 200), product, key), Called: key, Country: "US", Places: []string{"ISO3166-1:US"},
		Refs: []string{Name + ":" + key}, URL: "https://nvd.nist.gov/vuln/detail/" + key, Comment: Name + ":" + key, Creator: "CISA", Instruction: hazard.Clean(lenient.Clip(e.Action, 4000)),
	}
	ransomware, due := "", ""
	if strings.EqualFold(strings.TrimSpace(e.Ransomware), "Known") {
		ransomware = "It is known to be used for ransomware."
	}
	if due = hazard.CleanLine(lenient.Clip(e.Due, 40)); due != "" {
		due = "Agencies of the United States have to act by " + due + "."
	}
	if product != "" {
		product = "Product: " + product + "."
	}
	r.Description = hazard.Clean(lenient.Joined("\n", lenient.Clip(e.Text, 8000), product, ransomware, due))
	if start > now.Add(48*time.Hour) {
		r.Suspect = fmt.Sprintf("dateAdded: %v is in the future", start)
	}
	return r, ""
}
