package nhc

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// maxText bounds a text, in bytes. The longest recorded one has 10 kB.
const maxText = 64 << 10

// Patterns for a forecast/advisory (TCM), in which each run of white space was replaced by one
// blank, because some RSS has it on one line (nhc.noaa.gov/aboutnhcprod.shtml, "Tropical Cyclone
// Forecast/Advisory"; NWS Instruction 10-607).
var (
	tcmHead = regexp.MustCompile(`((?:REMNANTS OF|(?:POTENTIAL |POST-)?TROPICAL CYCLONE|(?:SUB)?TROPICAL (?:DEPRESSION|STORM)|HURRICANE|(?:SUPER )?TYPHOON) [A-Z][A-Z'-]*) (?:SPECIAL )?FORECAST/ADVISORY NUMBER (\d{1,3}[A-Z]?)`)
	tcmID   = regexp.MustCompile(`\b((?:AL|EP|CP)\d{6})\b`)
	// The month and the year are only in the header; hours are in UTC (Zulu).
	tcmTime     = regexp.MustCompile(`\b(\d{4}) UTC [A-Z]{3} ([A-Z]{3}) (\d{1,2}) (\d{4})\b`)
	tcmCenter   = regexp.MustCompile(`CENTER LOCATED NEAR ([\d.]+[NS]) ([\d.]+[EW]) AT \d{2}/\d{4}Z`)
	tcmWind     = regexp.MustCompile(`MAX SUSTAINED WINDS (\d{1,3}) KT(?: WITH GUSTS TO (\d{1,3}) KT)?`)
	tcmPressure = regexp.MustCompile(`MINIMUM CENTRAL PRESSURE (\d{3,4}) MB`)
	tcmMovement = regexp.MustCompile(`PRESENT MOVEMENT TOWARD THE ([A-Z-]+) OR (\d{1,3}) DEGREES AT (\d{1,3}) KT`)
	tcmForecast = regexp.MustCompile(`(?:FORECAST|OUTLOOK) VALID \d{2}/\d{4}Z ([\d.]+[NS]) ([\d.]+[EW])`)
)

// text reads the text of a forecast/advisory, possibly with text before it from whoever stored it.
func (p *parser) text(doc []byte) error {
	flat := flatten(string(doc[:min(len(doc), maxText)]))
	upper := strings.ToUpper(flat)
	switch {
	case tcmHead.MatchString(upper) && !strings.Contains(upper, "$$"):
		return &source.PayloadError{Reason: fmt.Sprintf("the forecast/advisory ends early, after %d bytes, before $$", len(doc)), Cut: true}
	case tcmHead.MatchString(upper):
		p.Batch.Read++
		p.tcm(upper, doc)
	case strings.Contains(upper, "TROPICAL WEATHER OUTLOOK"):
		p.Batch.Read++
		p.ignore("text", "outlook")
	case strings.Contains(upper, " PGTW "):
		return source.Errorf("a message of the Joint Typhoon Warning Center (PGTW), expected one of the National Hurricane Center")
	case strings.Contains(upper, "ADVISORY NUMBER"):
		p.Batch.Read++
		p.ignore("text", "public")
	default:
		return source.Errorf("%s, expected a list of storms, RSS or the text of an advisory", lenient.Excerpt(doc))
	}
	return nil
}

func flatten(s string) string { return strings.Join(strings.Fields(hazard.Clean(s)), " ") }

// tcm reads a forecast/advisory in capitals, with white space replaced by blanks.
func (p *parser) tcm(text string, raw []byte) {
	f, reason := tcmFix(text)
	if reason == "" {
		if reason = p.add(f, formText); reason == "" {
			p.draw(&f, tcmFixes(text, &f))
		}
	}
	if reason != "" {
		record := "forecast/advisory"
		if f.id != "" {
			record = f.id
		}
		p.Reject(lenient.At(record), raw, reason)
	}
}

func tcmFix(text string) (f fix, reason string) {
	at := tcmHead.FindStringSubmatchIndex(text)
	if at == nil {
		return f, "the text has no line FORECAST/ADVISORY NUMBER"
	}
	f.class, f.name = classOfWords(text[at[2]:at[3]])
	f.advisory = text[at[4]:at[5]]
	text = text[at[1]:]
	id := tcmID.FindString(text)
	if f.id = atcfID(id); f.id == "" {
		return f, "the text names no ATCF identity such as AL092021 after its title"
	}
	m := tcmTime.FindStringSubmatch(text)
	if m == nil {
		return f, "the text has no time such as 0900 UTC SUN AUG 29 2021 after its title"
	}
	t, err := time.Parse("1504 Jan 2 2006", m[1]+" "+m[2]+" "+m[3]+" "+m[4])
	if err != nil {
		return f, "time: " + lenient.ExcerptText(m[0]) + ", expected a time such as 0900 UTC SUN AUG 29 2021"
	}
	f.issued = hazard.At(t)
	c := tcmCenter.FindStringSubmatch(text)
	if c != nil {
		f.point = onEarth(lettered(c[2], "EW"), lettered(c[1], "NS"))
	}
	if f.point == nil {
		return f, "the text has no CENTER LOCATED NEAR a latitude and a longitude"
	}
	if m := tcmWind.FindStringSubmatch(text); m != nil {
		f.wind, f.gusts = integer(m[1]), integer(m[2])
	}
	if m := tcmPressure.FindStringSubmatch(text); m != nil {
		f.pressure = integer(m[1])
	}
	if m := tcmMovement.FindStringSubmatch(text); m != nil {
		f.movement = strings.ToLower(m[1]) + " (" + m[2] + "°) at " + m[3] + " kt"
	}
	f.last = strings.Contains(text, "THIS IS THE LAST FORECAST/ADVISORY")
	f.track = append(f.track, *f.point)
	for _, m := range tcmForecast.FindAllStringSubmatch(text, maxTrack) {
		if p := onEarth(lettered(m[2], "EW"), lettered(m[1], "NS")); p != nil {
			f.track = append(f.track, *p)
		}
	}
	return f, ""
}

func integer(s string) lenient.Number {
	v, err := strconv.Atoi(s)
	return lenient.Number{Value: float64(v), Known: err == nil}
}

// isTCM reports whether raw contains a forecast/advisory.
func isTCM(raw []byte) bool { return bytes.Contains(raw, []byte("FORECAST/ADVISORY NUMBER")) }
