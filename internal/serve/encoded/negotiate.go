package encoded

import (
	"strconv"
	"strings"
)

// preferred is the order among codings with the same weight: cheapest to make first.
var preferred = [...]Encoding{Zstd, Brotli, Gzip}

// Prefer returns the coding with the highest weight in Accept-Encoding (RFC 9110 section 12.5.3),
// or Identity. A client that refuses even Identity gets it all the same, since an error would not
// help it. A wildcard means gzip only: clients that send one cannot read the newer codings, and
// those that can name them.
func Prefer(values []string) Encoding {
	if len(values) == 0 {
		return Identity
	}
	var quality [Brotli + 1]float64
	for i := range quality {
		quality[i] = -1 // not named
	}
	all := -1.0
	for _, value := range values {
		for rest := value; rest != ""; {
			var item string
			item, rest, _ = strings.Cut(rest, ",")
			name, params, _ := strings.Cut(item, ";")
			q := qvalue(params)
			switch name = strings.TrimSpace(name); {
			case name == "*":
				all = q
			case strings.EqualFold(name, "identity"):
				quality[Identity] = q
			case strings.EqualFold(name, "gzip") || strings.EqualFold(name, "x-gzip"):
				quality[Gzip] = q
			case strings.EqualFold(name, "zstd"):
				quality[Zstd] = q
			case strings.EqualFold(name, "br"):
				quality[Brotli] = q
			}
		}
	}
	// Among what is liked equally a coding wins over none.
	best, bestQ := Identity, 0.0
	for _, e := range preferred {
		q := quality[e]
		if q < 0 && e == Gzip {
			q = all
		}
		if q > bestQ {
			best, bestQ = e, q
		}
	}
	if quality[Identity] > bestQ {
		return Identity
	}
	return best
}

// qvalue parses the weight of an item (RFC 9110 section 12.4.2). It is 1 if missing, and 0 if
// unreadable.
func qvalue(params string) float64 {
	params = strings.TrimSpace(params)
	if params == "" {
		return 1
	}
	name, value, _ := strings.Cut(params, "=")
	q, err := strconv.ParseFloat(value, 64)
	if !strings.EqualFold(strings.TrimSpace(name), "q") || err != nil || !(q >= 0 && q <= 1) {
		return 0
	}
	return q
}

// Matches reports whether an If-None-Match list names etag, by weak comparison.
func Matches(values []string, etag string) bool {
	for _, value := range values {
		for rest := value; rest != ""; {
			var tag string
			tag, rest, _ = strings.Cut(rest, ",")
			tag = strings.TrimPrefix(strings.TrimSpace(tag), "W/")
			if tag == etag || tag == "*" {
				return true
			}
		}
	}
	return false
}
