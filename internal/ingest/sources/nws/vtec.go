package nws

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
)

// vtec is a P-VTEC string, the Valid Time Event Code of NWS Instruction 10-1703:
// /k.aaa.cccc.pp.s.####.yymmddThhnnZ-yymmddThhnnZ/
type vtec struct {
	class        byte   // O operational; T test, E experimental, X experimental VTEC in an operational product
	action       string // NEW, CON, EXT, EXA, EXB, UPG, CAN, EXP, ROU, COR
	office       string // four letters
	phenomenon   string // two letters, such as TO
	significance byte   // W, A, Y, S, F, O, N
	number       string // four digits: the event tracking number, which starts again each year
	// begin is nil if the event had begun before the message was issued; end is nil if the event
	// lasts until further notice.
	begin, end *hazard.Instant
}

const (
	vtecForm = "/k.aaa.cccc.pp.s.####.yymmddThhnnZ-yymmddThhnnZ/"
	noTime   = "000000T0000Z" // "already begun", "until further notice"
)

// parseVTEC parses a P-VTEC string. Years 00 to 69 belong to this century, 70 to 99 to the last.
func parseVTEC(s string) (vtec, error) {
	bad := func(what string) (vtec, error) {
		return vtec{}, fmt.Errorf("VTEC: %.60q: %s, expected %s", s, what, vtecForm)
	}
	if len(s) != len(vtecForm) {
		return bad(strconv.Itoa(len(s)) + " characters")
	}
	for i := range len(s) {
		ok := false
		switch form := vtecForm[i]; form {
		case '/', '.', '-', 'T', 'Z':
			ok = s[i] == form
		case 'k', 'a', 's':
			ok = 'A' <= s[i] && s[i] <= 'Z'
		case 'c', 'p':
			ok = 'A' <= s[i] && s[i] <= 'Z' || '0' <= s[i] && s[i] <= '9'
		default:
			ok = '0' <= s[i] && s[i] <= '9'
		}
		if !ok {
			return bad(fmt.Sprintf("%q at position %d", s[i:i+1], i+1))
		}
	}
	v := vtec{class: s[1], action: s[3:6], office: s[7:11], phenomenon: s[12:14], significance: s[15], number: s[17:21]}
	switch {
	case !strings.ContainsRune("OTEX", rune(v.class)):
		return bad("class " + s[1:2])
	case !strings.ContainsRune("WAYSFON", rune(v.significance)):
		return bad("significance " + s[15:16])
	case !knownActions[v.action]:
		return bad("action " + v.action)
	}
	var err error
	if v.begin, err = vtecTime(s[22:34]); err != nil {
		return bad("begin " + s[22:34])
	}
	if v.end, err = vtecTime(s[35:47]); err != nil {
		return bad("end " + s[35:47])
	}
	return v, nil
}

// vtecIdentity matches the parts of a VTEC string that identify its event, even if the rest is
// invalid.
var vtecIdentity = regexp.MustCompile(`^/([A-Z])\.([A-Z]{3})\.([A-Z0-9]{4})\.([A-Z0-9]{2})\.([A-Z])\.([0-9]{4})\.`)

// identityOf parses the part of a P-VTEC string that identifies its event, without times. If the
// action is invalid, the event counts as continued.
func identityOf(s string) (vtec, bool) {
	m := vtecIdentity.FindStringSubmatch(s)
	if m == nil {
		return vtec{}, false
	}
	v := vtec{class: m[1][0], action: m[2], office: m[3], phenomenon: m[4], significance: m[5][0], number: m[6]}
	if !strings.ContainsRune("TEX", rune(v.class)) {
		v.class = 'O'
	}
	if !knownActions[v.action] {
		v.action = "CON"
	}
	return v, strings.ContainsRune("WAYSFON", rune(v.significance))
}

// isHydrologic reports whether s is an H-VTEC string, which describes a flood's cause and crest
// beside the P-VTEC string of the event: /nwsli.s.ic.yymmddThhnnZ.yymmddThhnnZ.yymmddThhnnZ.fr/
func isHydrologic(s string) bool {
	const form = "/nwsli.s.ic.yymmddThhnnZ.yymmddThhnnZ.yymmddThhnnZ.fr/"
	return len(s) == len(form) && s[0] == '/' && s[len("/nwsli")] == '.' && s[len(s)-1] == '/'
}

var knownActions = map[string]bool{
	"NEW": true, "CON": true, "EXT": true, "EXA": true, "EXB": true, "COR": true,
	"UPG": true, "CAN": true, "EXP": true, "ROU": true,
}

func vtecTime(s string) (*hazard.Instant, error) {
	if s == noTime {
		return nil, nil
	}
	century := "20"
	if s[0] >= '7' {
		century = "19"
	}
	t, err := time.Parse("20060102T1504Z", century+s)
	if err != nil {
		return nil, err
	}
	return new(hazard.At(t)), nil
}

// String returns the P-VTEC string.
func (v vtec) String() string {
	text := func(t *hazard.Instant) string {
		if t == nil {
			return noTime
		}
		return t.Time().Format("060102T1504Z")
	}
	return fmt.Sprintf("/%c.%s.%s.%s.%c.%s.%s-%s/", v.class, v.action, v.office, v.phenomenon, v.significance, v.number,
		text(v.begin), text(v.end))
}

// believable removes a begin or end whose year is impossible for a message sent at that time. Such
// years are typing errors.
func (v vtec) believable(sent hazard.Instant) vtec {
	near := func(t *hazard.Instant) *hazard.Instant {
		if t == nil {
			return nil
		}
		if d := t.Time().Year() - sent.Time().Year(); d < -1 || d > 1 {
			return nil
		}
		return t
	}
	v.begin, v.end = near(v.begin), near(v.end)
	return v
}

// ended returns the reason for which the action ends the event, or "" if it does not.
func (v vtec) ended() hazard.EndReason {
	switch v.action {
	case "CAN":
		return hazard.EndCancelled
	case "EXP":
		return hazard.EndExpired
	case "UPG":
		return hazard.EndSuperseded
	}
	return ""
}

// turnOfYear is how far from New Year an event may have been announced in the other year. Offices
// look a week ahead.
const turnOfYear = 10 * 24 * time.Hour

// keys returns the identity of the event, and earlier identities under which it may have begun. The
// tracking number is only unique within a year, which the string no longer contains once the event
// has begun. The year is that of the begin, or else of sent.
//
// A tornado or severe thunderstorm watch (TO.A, SV.A) has a number of the Storm Prediction Center,
// which is the same at each office; so the office is "SPC". Offices outside the contiguous states
// (their codes do not begin with K) use their own numbers, because the Center does not watch their
// area.
func (v vtec) keys(sent hazard.Instant) (key string, earlier []string) {
	office := v.office
	if v.significance == 'A' && (v.phenomenon == "TO" || v.phenomenon == "SV") && office[0] == 'K' {
		office = "SPC"
	}
	name := func(year int) string {
		return fmt.Sprintf("%s.%s.%c.%s.%04d", office, v.phenomenon, v.significance, v.number, year)
	}
	v = v.believable(sent)
	when := sent
	if v.begin != nil {
		when = *v.begin
	}
	year := when.Time().Year()
	if v.action == "NEW" {
		return name(year), nil
	}
	// If the begin was moved across New Year after the announcement, the event has the year of the
	// original begin.
	if v.begin == nil || when.Add(-turnOfYear).Time().Year() < year {
		earlier = append(earlier, name(year-1))
	}
	if v.begin != nil && when.Add(turnOfYear).Time().Year() > year {
		earlier = append(earlier, name(year+1))
	}
	return name(year), earlier
}
