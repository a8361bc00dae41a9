package hans

import (
	"fmt"
	"strings"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/source"
	"github.com/hazardd/hazardd/internal/source/frame"
)

// api is where USGS publishes the lists and the volcanoes.
const api = "https://volcanoes.usgs.gov/hans-public/api/volcano/"

// volcano is an element of any of the lists. Each list has some of the members:
//
//   - getElevatedVolcanoes and getMonitoredVolcanoes: the latest notice of a volcano, without position;
//   - getCapElevated: the same for alerts in the Common Alerting Protocol, with position and synopsis;
//   - getUSVolcanoes, and getVolcano for a single one: the catalogue, with position, without alert level.
type volcano struct {
	Number       string `json:"vnum"` // in the Smithsonian's catalogue
	Name         string `json:"volcano_name"`
	NameAppended string `json:"volcano_name_appended"` // the same with "Volcano" behind it (getCapElevated)
	// Observatory is one of five, or "Northern Mariana Islands".
	Observatory string `json:"obs_fullname"`
	// AlertLevel is for people on the ground: NORMAL, ADVISORY, WATCH, WARNING, UNASSIGNED. ColorCode is for aviation: GREEN,
	// YELLOW, ORANGE, RED, UNASSIGNED. They usually go together, and part when ash is the only danger, or none.
	AlertLevel string `json:"alert_level"`
	ColorCode  string `json:"color_code"`
	// Notice is the document that said so last. It may cover several volcanoes.
	Notice string `json:"notice_identifier"`
	// NoticeType is DU (daily update), WU, VN …; getCapElevated names it otherwise.
	NoticeType    string `json:"notice_type_cd"`
	NoticeTypeCAP string `json:"noticeTypeCd"`
	NoticeURL     string `json:"notice_url"`
	// When the notice was sent: "2026-07-27 19:44:38" without zone, in UTC, and the same in seconds since 1970.
	SentUTC  string       `json:"sent_utc"`
	SentUnix frame.Number `json:"sent_unixtime"`
	SentCAP  string       `json:"sent_date_cap"` // with offset (getCapElevated)
	// Synopsis is what goes on, in a sentence or two (getCapElevated).
	Synopsis string `json:"synopsis"`
	// The position, in degrees, WGS84.
	Latitude  frame.Number `json:"latitude"`
	Longitude frame.Number `json:"longitude"`
}

// Parse reads a list. Records are read one after the other: one that is not of the expected types makes a Reject, and its
// neighbours stay. A record of the catalogue says nothing of a hazard and is ignored.
//
// The batch is Whole if the list was read to its end, and is neither of the catalogue nor of CAP alerts.
// An empty list is Whole: all is quiet. The error, if any, is a *source.PayloadError; what could be read before it is in
// the Batch nevertheless.
func Parse(payload []byte, now hazard.Instant) (source.Batch, error) {
	p := parser{now: now, Batch: frame.Batch{
		ID: func(raw []byte) string { return (&volcano{Number: frame.Scalar(frame.Member(raw, "vnum"))}).number() },
		Events: func(record string, raw []byte) []string {
			if strings.Contains(record, "/") { // its place in the list
				return nil
			}
			return []string{record}
		},
	}}
	err := frame.List(payload, "volcanoes", p.record)
	p.Whole = err == nil && !p.other
	return p.Done(), err
}

type parser struct {
	frame.Batch
	now   hazard.Instant
	other bool // the list has positions: it is another than that of the elevated or monitored volcanoes
	// known are the records of one volcano and notice, to find copies, and those that contradict each other.
	known map[string][]reported
}

// reported is a record and its report's place in the batch.
type reported struct {
	volcano
	at int
}

// record reads one record.
func (p *parser) record(where func() string, raw []byte) {
	v, notes := frame.Read[volcano](&p.Batch, where, raw)
	if v == nil {
		return
	}
	p.other = p.other || v.Latitude.Known || v.NameAppended != ""
	if v.AlertLevel == "" && v.ColorCode == "" && v.Latitude.Known { // of the catalogue
		p.Ignored++
		return
	}
	r, err := v.report(p.now)
	if err != nil {
		p.Reject(where, raw, append(notes, err.Error())...)
		return
	}
	source.Note(&r, notes...)
	// Of two records of one volcano, notice and moment nobody knows which counts.
	id := fmt.Sprintf("%s %s %d", r.Key, r.Part, r.Version)
	for _, other := range p.known[id] {
		if other.volcano == *v {
			p.Ignored++ // a copy
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
				r.Suspect = frame.Joined("; ", r.Suspect, clash)
			}
		}
	}
}

// clash is why nobody can tell which of several records counts.
const clash = "another record of the same volcano and notice says something else"
