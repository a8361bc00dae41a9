package hans

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// api is the address of the lists and the volcanoes.
const api = "https://volcanoes.usgs.gov/hans-public/api/volcano/"

// volcano is an element of any of the lists. Each list has some of the members:
//
//   - getElevatedVolcanoes and getMonitoredVolcanoes: the latest notice of a volcano, without
//     position;
//   - getCapElevated: the same for alerts in the Common Alerting Protocol, with position and
//     synopsis;
//   - getUSVolcanoes, and getVolcano for a single one: the catalog, with position, without alert
//     level.
type volcano struct {
	Number       string `json:"vnum"` // in the Smithsonian's catalog
	Name         string `json:"volcano_name"`
	NameAppended string `json:"volcano_name_appended"` // the name followed by "Volcano" (getCapElevated)
	// Observatory is one of five observatories, or "Northern Mariana Islands".
	Observatory string `json:"obs_fullname"`
	// AlertLevel is for people on the ground: NORMAL, ADVISORY, WATCH, WARNING, UNASSIGNED.
	// ColorCode is for aviation: GREEN, YELLOW, ORANGE, RED, UNASSIGNED. They usually agree. They
	// differ if ash is the only danger, or no danger.
	AlertLevel string `json:"alert_level"`
	ColorCode  string `json:"color_code"`
	// Notice is the latest document about the volcano. It may cover several volcanoes.
	Notice string `json:"notice_identifier"`
	// NoticeType is DU (daily update), WU, VN …; getCapElevated uses another member for it.
	NoticeType    string `json:"notice_type_cd"`
	NoticeTypeCAP string `json:"noticeTypeCd"`
	NoticeURL     string `json:"notice_url"`
	// The time of sending: "2026-07-27 19:44:38" without zone, in UTC, and the same in seconds
	// since 1970.
	SentUTC  string         `json:"sent_utc"`
	SentUnix lenient.Number `json:"sent_unixtime"`
	SentCAP  string         `json:"sent_date_cap"` // with offset (getCapElevated)
	// Synopsis describes the activity in a sentence or two (getCapElevated).
	Synopsis string `json:"synopsis"`
	// The position in degrees, WGS 84.
	Latitude  lenient.Number `json:"latitude"`
	Longitude lenient.Number `json:"longitude"`
}

// Parse reads a list. It reads each record separately: one with a wrong type becomes a Reject and
// does not affect its neighbors. A record of the catalog contains no hazard and is ignored.
//
// The batch is Whole if the list was read to its end, and is neither the catalog nor the list of
// CAP alerts. An empty list is Whole: no volcano is elevated. The error, if any, is a
// *source.PayloadError; the Batch still contains the part before it.
func Parse(payload []byte, now hazard.Instant) (source.Batch, error) {
	p := parser{now: now, Batch: lenient.Batch{
		ID: func(raw []byte) string {
			return (&volcano{Number: lenient.Scalar(lenient.Member(raw, "vnum"))}).number()
		},
		Events: func(record string, raw []byte) []string {
			if strings.Contains(record, "/") { // its position in the list
				return nil
			}
			return []string{record}
		},
	}}
	err := lenient.List(payload, "volcanoes", p.record)
	p.Whole = err == nil && !p.other
	return p.Done(), err
}

type parser struct {
	lenient.Batch
	now   hazard.Instant
	other bool // the list has positions, so it is not the list of elevated or monitored volcanoes
	// known holds the records by volcano, notice and time, to find copies and contradictions.
	known map[string][]reported
}

// reported is a record with the index of its report in the batch.
type reported struct {
	volcano
	at int
}

// record reads one record.
func (p *parser) record(where func() string, raw []byte) {
	v, notes := lenient.Read[volcano](&p.Batch, where, raw)
	if v == nil {
		return
	}
	p.other = p.other || v.Latitude.Known || v.NameAppended != ""
	if v.AlertLevel == "" && v.ColorCode == "" && v.Latitude.Known { // a record of the catalog
		p.Ignore(cmp.Or(v.number(), where()), "a volcano of the catalog without an alert level or a color: not monitored, or unassigned")
		return
	}
	r, err := v.report(p.now)
	if err != nil {
		p.Reject(where, raw, append(notes, err.Error())...)
		return
	}
	source.Note(&r, notes...)
	// If two different records have the same volcano, notice and time, it is unclear which one
	// counts.
	id := fmt.Sprintf("%s %s %d", r.Key, r.Part, r.Version)
	for _, other := range p.known[id] {
		if other.volcano == *v {
			p.Ignore(r.Key, "a copy of another record in the list")
			return
		}
	}
	if p.known == nil {
		p.known = map[string][]reported{}
	}
	p.known[id] = append(p.known[id], reported{*v, len(p.Reports)})
	p.Reports = append(p.Reports, r)
	if same := p.known[id]; len(same) > 1 {
		for _, other := range same {
			if r := &p.Reports[other.at]; !strings.HasSuffix(r.Suspect, clash) {
				r.Suspect = lenient.Joined("; ", r.Suspect, clash)
			}
		}
	}
}

// clash is the reason for holding contradictory records.
const clash = "another record of the same volcano and notice says something else"
