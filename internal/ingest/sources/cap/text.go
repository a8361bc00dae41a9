package cap

import (
	"cmp"
	"html"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/sources/nws"
)

// Limits of stored texts, in bytes. Real descriptions have some kilobytes.
const (
	maxDescription = 16 << 10
	maxProduct     = 64 << 10
	maxTitle       = 300
)

// Text returns the readable text of a string that may contain HTML: without tags, comments and
// scripts, and with entities replaced by their characters. Line breaks stay.
func Text(s string) string {
	s = lenient.Cut(s, 4*maxProduct)
	for range 3 { // markup may be escaped twice
		plain := html.UnescapeString(s)
		if strings.ContainsRune(plain, '<') {
			plain = withoutTags(plain)
		}
		if plain == s {
			break
		}
		s = plain
	}
	lines := strings.Split(hazard.Clean(s), "\n")
	for i, line := range lines {
		lines[i] = strings.Join(strings.Fields(line), " ")
	}
	lines = slices.CompactFunc(lines, func(a, b string) bool { return a == "" && b == "" })
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// withoutTags removes tags and the content of scripts and styles. Some tags begin a new line.
func withoutTags(s string) string {
	var b strings.Builder
	for {
		text, rest, found := strings.Cut(s, "<")
		b.WriteString(text)
		if !found {
			return b.String()
		}
		letters := strings.TrimPrefix(rest, "/")
		end := strings.IndexAny(rest, "<>")
		switch {
		case strings.HasPrefix(rest, "!--"):
			_, s, _ = strings.Cut(rest, "-->")
			continue
		case letters == "" || !(letters[0] == '!' || letters[0]|0x20 >= 'a' && letters[0]|0x20 <= 'z') || end < 0 || rest[end] == '<':
			b.WriteByte('<') // only a character, not a tag
			s = rest
			continue
		}
		name := strings.ToLower(strings.FieldsFunc(letters[:len(letters)-len(rest)+end]+" ", func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '!' })[0])
		s = rest[end+1:]
		switch name {
		case "script", "style":
			if rest[0] != '/' {
				if i := strings.Index(strings.ToLower(s), "</"+name); i >= 0 {
					s = s[i:]
				} else {
					s = ""
				}
			}
		case "br", "li", "tr":
			b.WriteByte('\n')
		case "p", "div", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "table", "blockquote":
			b.WriteString("\n\n")
		}
	}
}

// name returns a hazard's name: the event without words of levels, and where it is.
func name(in *Info, headline bool) string {
	what := hazard.CleanLine(Text(in.Event))
	what = cmp.Or(nws.Emergency(what, in.Param("flashFloodDamageThreat"), in.Param("tornadoDamageThreat"), in.Param("thunderstormDamageThreat")), what)
	if headline {
		what = cmp.Or(withoutPlace(hazard.CleanLine(Text(in.Headline))), what)
	}
	var kept []string
	meteo := in.Param("awareness_level") != ""
	for _, w := range strings.Fields(what) {
		l := strings.ToLower(w)
		// MeteoAlarm writes its severity into the name. Elsewhere, "Severe Thunderstorm Warning" is
		// a complete name.
		if levelWords[l] || meteo && slices.Contains([]string{"minor", "moderate", "severe", "extreme"}, l) {
			continue
		}
		kept = append(kept, w)
	}
	what = sentence(cmp.Or(strings.Join(kept, " "), what, hazard.CleanLine(Text(in.Headline)), "Alert"))
	where := cmp.Or(shortArea(in.Area), hazard.CleanLine(lenient.Cut(in.Param("country"), areaWidth))) // GDACS calls its areas "Polygon"
	return lenient.Joined(" - ", lenient.Cut(what, maxTitle), where)
}

// withoutPlace removes the text before a colon that gives the kind of message ("Entwarnung: …").
func withoutPlace(headline string) string {
	if before, after, ok := strings.Cut(headline, ": "); ok && !strings.Contains(before, " ") {
		return after
	}
	return headline
}

// sentence returns text with a capital first letter. Text entirely in capitals gets normal case.
func sentence(s string) string {
	letters, upper := 0, 0
	for _, r := range s {
		if unicode.IsLetter(r) {
			letters++
			if unicode.IsUpper(r) {
				upper++
			}
		}
	}
	if letters > 3 && upper == letters {
		s = strings.ToLower(s)
	}
	r, n := utf8.DecodeRuneInString(s)
	if n == 0 {
		return ""
	}
	return string(unicode.ToUpper(r)) + s[n:]
}

// areaWidth bounds the area in a hazard's name, in characters, because names appear in lists.
const areaWidth = 80

// shortArea returns the name of the first area, and how many more there are.
func shortArea(areas []Area) string {
	var names []string
	for i := range areas {
		if n := hazard.CleanLine(Text(lenient.Cut(areas[i].Desc, 1000))); n != "" && !is(n, "Polygon", "Circle", "Area", "Point") && !slices.Contains(names[:min(len(names), 50)], n) {
			names = append(names, n)
		}
	}
	return lenient.Names(names, areaWidth)
}

// description returns the message for readers, in paragraphs: the sender, time and level in the
// source's words, then the text.
func description(agency string, in *Info, l level, sent hazard.Instant, notes ...string) string {
	parts := append([]string{lead(agency, in, l, sent)}, notes...)
	parts = append(parts, Text(in.Headline), Text(in.Description), Text(in.Instruction))
	return shortened(lenient.Joined("\n\n", parts...), maxDescription)
}

// lead returns the first line of a description.
func lead(agency string, in *Info, l level, sent hazard.Instant) string {
	first := agency + ": " + hazard.CleanLine(Text(in.Event))
	words := []string{l.word}
	for _, w := range []string{in.Severity, in.Urgency, in.Certainty} {
		if w = hazard.CleanLine(w); w != "" && !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	if w := lenient.Joined(", ", words...); w != "" {
		first += " (" + w + ")"
	}
	return hazard.CleanLine(first + ", issued " + sent.Time().Format("2 Jan 2006 15:04 UTC"))
}

// shortened cuts s to n bytes, with a mark if it was cut.
func shortened(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.TrimSpace(lenient.Cut(s, n-len("…"))) + "…"
}

// httpAddress parses an http or https address without a user; it returns nil for anything else.
func httpAddress(s string) *url.URL {
	s = strings.TrimSpace(s)
	if len(s) > maxAddress || strings.ContainsFunc(s, unicode.IsControl) {
		return nil
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil {
		return nil
	}
	return u
}

// WebAddress returns an address that may be shown: http or https, on a host that has a name or a
// public IP address.
func WebAddress(s string) (string, bool) {
	u := httpAddress(s)
	if u == nil {
		return "", false
	}
	host := strings.ToLower(u.Hostname())
	if ip, err := netip.ParseAddr(host); err == nil {
		ip = ip.Unmap()
		if !ip.IsGlobalUnicast() || ip.IsPrivate() {
			return "", false
		}
	} else if last := host[strings.LastIndexByte(host, '.')+1:]; last == host || last == "" || last == "localhost" || last == "local" || last[0] <= '9' {
		return "", false // not a public name: a name that ends in a number is an IP address in an unusual form
	}
	return u.String(), true
}
