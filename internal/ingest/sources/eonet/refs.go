package eonet

import (
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// register is a row of the table of registers: how a source's addresses contain the name of an
// event.
type register struct {
	host string // also matches its subdomains
	// name returns the reference in an address, or "" if there is none.
	name  func(u *url.URL) string
	basis string
}

// registers lists the addresses that contain an event's name at another source. They are recognized
// by host, because EONET's ids of sources do not show the kind of address.
var registers = []register{
	{"gdacs.org", gdacsName, "recordings: report.aspx?eventtype=VO&eventid=512, in either order"},
	{"metoc.navy.mil", jtwcName, "recordings: jtwc/products/wp2425.tcw, basin, number and year of the ATCF"},
	{"nhc.noaa.gov", found("atcf:", regexp.MustCompile(`(?i)(?:^|[^a-z])((?:al|ep|cp)\d{2}20\d{2})(?:\D|$)`), strings.ToUpper), "the ATCF id is in the addresses of its documents; judgement, none recorded"},
	{"irwin.doi.gov", irwinName, "recordings: observer/incidents/2026-AZASF-000955, the unique fire id; a GUID where it is one"},
	{"volcano.si.edu", query("gvp:", "vn", regexp.MustCompile(`^\d{6}$`)), "recordings: volcano.cfm?vn=352010, the volcano number"},
	{"pdc.org", query("pdc:", "hazard_id", regexp.MustCompile(`^\d{1,12}$`)), "recordings: emops/?hazard_id=123392, hazard_ID of that installation"},
	{"emergency.copernicus.eu", found("cems:", regexp.MustCompile(`(?i)(EMSR\d{3,4})(?:\D|$)`), strings.ToUpper), "recordings: list-of-components/EMSR289"},
	{"disasterscharter.org", found("charter:", regexp.MustCompile(`activation-(\d{1,5})(?:\D|$)`), strings.ToLower), "recordings: volcano-in-guatemala-activation-576-"},
	{"reliefweb.int", found("glide:", glideNumber, strings.ToUpper), "recordings: disaster/vo-2018-000066-gtm, the GLIDE number"},
	{"glidenumber.net", found("glide:", glideNumber, strings.ToUpper), "as above"},
	{"earthquake.usgs.gov", found("usgs:", regexp.MustCompile(`(?i)/eventpage/([a-z]{2}[a-z0-9]{1,20})(?:[^a-z0-9]|$)`), strings.ToLower), "eventpage/us7000pufs; judgement, none recorded"},
}

var glideNumber = regexp.MustCompile(`(?i)(?:^|[^a-z])([a-z]{2}-\d{4}-\d{6}-[a-z]{3})(?:[^a-z]|$)`)

// maxRefs bounds the references of one event. The largest recorded number of sources is four.
const maxRefs = 64

// refs returns the names of an event at its sources, and EONET's own.
func refs(id string, sources []reference) []string {
	all := []string{Name + ":" + id}
	for _, s := range sources {
		u := address(s.URL)
		if u == nil || len(all) >= maxRefs {
			continue
		}
		host := strings.ToLower(u.Hostname())
		for _, r := range registers {
			if host != r.host && !strings.HasSuffix(host, "."+r.host) {
				continue
			}
			if name := r.name(u); name != "" && !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	slices.Sort(all[1:])
	return all
}

// query returns a function that finds a member of the query whose value matches like.
func query(scheme, member string, like *regexp.Regexp) func(*url.URL) string {
	return func(u *url.URL) string {
		if id := value(u, member); like.MatchString(id) {
			return scheme + id
		}
		return ""
	}
}

// found returns a function that finds the first group of like in the path or the query.
func found(scheme string, like *regexp.Regexp, written func(string) string) func(*url.URL) string {
	return func(u *url.URL) string {
		if m := like.FindStringSubmatch(u.Path + "?" + u.RawQuery); m != nil {
			return scheme + written(m[1])
		}
		return ""
	}
}

// value returns a member of the query, ignoring the case of its name.
func value(u *url.URL, member string) string {
	for name, values := range u.Query() {
		if strings.EqualFold(name, member) && len(values) > 0 {
			return values[0]
		}
	}
	return ""
}

var (
	gdacsType = regexp.MustCompile(`^(EQ|TC|FL|VO|DR|WF|TS)$`)
	digits    = regexp.MustCompile(`^\d{1,12}$`)
)

func gdacsName(u *url.URL) string {
	kind, id := strings.ToUpper(value(u, "eventtype")), value(u, "eventid")
	if !gdacsType.MatchString(kind) || !digits.MatchString(id) {
		return ""
	}
	return "gdacs:" + kind + id
}

var jtwcFile = regexp.MustCompile(`(?i)/([a-z]{2}\d{2})(\d{2})[a-z]*\.[a-z]{3,4}$`)

func jtwcName(u *url.URL) string {
	m := jtwcFile.FindStringSubmatch(u.Path)
	if m == nil {
		return ""
	}
	return "atcf:" + strings.ToUpper(m[1]) + "20" + m[2]
}

var (
	guid   = regexp.MustCompile(`(?i)^\{?([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\}?$`)
	fireID = regexp.MustCompile(`(?i)^\d{4}-[a-z0-9]{5,6}-[a-z0-9]{1,10}$`)
)

func irwinName(u *url.URL) string {
	id := u.Path[strings.LastIndexByte(u.Path, '/')+1:]
	if m := guid.FindStringSubmatch(id); m != nil {
		return "irwin:" + strings.ToUpper(m[1])
	}
	if fireID.MatchString(id) {
		return "nifc:" + strings.ToUpper(id)
	}
	return ""
}

// maxAddress bounds a web address, in bytes, like browsers do.
const maxAddress = 2000

// address parses an absolute http or https address, possibly with HTML entities; it returns nil if
// s is invalid. It rejects blanks, control characters, and non-ASCII letters, which can make an
// address look like a different one.
func address(s string) *url.URL {
	if len(s) > maxAddress {
		return nil
	}
	s = html.UnescapeString(strings.TrimSpace(s))
	if s == "" || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.Opaque != "" {
		return nil
	}
	return u
}
