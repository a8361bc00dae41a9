package eaws

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// bulletin is one of a document. A member that a service does not use is missing, or null.
type bulletin struct {
	ID        string `json:"bulletinID"`
	Lang      string `json:"lang"`
	Published string `json:"publicationTime"` // null in some
	Valid     struct {
		Start string `json:"startTime"`
		End   string `json:"endTime"`
	} `json:"validTime"`
	Regions []struct {
		ID   string `json:"regionID"` // "AT-07-14-01", "CH-1246"
		Name string `json:"name"`
	} `json:"regions"`
	Ratings    []rating  `json:"dangerRatings"`
	Problems   []problem `json:"avalancheProblems"`
	Highlights string    `json:"highlights"`
	Activity   struct {
		Highlights string `json:"highlights"`
		Comment    string `json:"comment"`
	} `json:"avalancheActivity"`
	Advice jsontext.Value `json:"travelAdvisory"` // an object with highlights and comment
}

// rating is the danger in a height, at a part of the day.
type rating struct {
	Value     string    `json:"mainValue"`       // low, moderate, considerable, high, very_high; no_snow, no_rating
	Period    string    `json:"validTimePeriod"` // all_day, earlier, later
	Elevation elevation `json:"elevation"`
}

// elevation is a range of heights in meters, or from or to the tree line; both empty mean all.
type elevation struct {
	Lower bound `json:"lowerBound"`
	Upper bound `json:"upperBound"`
}

// bound is a number, also as a string, or "treeline"; empty if there is none.
type bound string

func (b *bound) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	switch raw.Kind() {
	case 'n':
		*b = ""
	case '0', '"':
		*b = bound(lenient.Scalar(raw))
	default:
		return &lenient.Unexpected{Found: lenient.Excerpt(raw), Expected: "a height in meters"}
	}
	return nil
}

type problem struct {
	Type      string    `json:"problemType"` // new_snow, wind_slab, …
	Period    string    `json:"validTimePeriod"`
	Elevation elevation `json:"elevation"`
	Aspects   []string  `json:"aspects"`
}

// Parse reads a document as of now. The error is a *source.PayloadError. If its Cut is true, the
// records before the error are good.
func Parse(payload []byte, now hazard.Instant) (source.Batch, error) {
	b := lenient.Batch{
		ID: func(raw []byte) string { return lenient.Word(lenient.Member(raw, "bulletinID")) },
	}
	doc, err := lenient.Collection{Want: "a CAAML document", Lists: []string{"bulletins"}, Heads: lenient.Complaints}.Read(payload, func(where func() string, raw []byte) {
		d, notes := lenient.Read[bulletin](&b, where, raw)
		if d == nil {
			return
		}
		reports, reason := d.reports(now)
		if reason != "" {
			b.Decline(where, raw, reason, notes...)
			return
		}
		for i := range reports {
			source.Note(&reports[i], notes...)
		}
		b.Reports = append(b.Reports, reports...)
	})
	if err == nil && doc.Listed == "" {
		err = source.Errorf("no bulletins: %s, expected the member bulletins", cmp.Or(lenient.ExcerptText(doc.Complaint()), lenient.Nothing))
	}
	b.Whole = err == nil
	return b.Done(), err
}

// regionForm matches the code of a micro-region: the country, and the rest by the service's rule.
var regionForm = regexp.MustCompile(`^[A-Z]{2}(-[A-Za-z0-9]{1,8}){1,5}$`)

// service is a warning service: what its regions' codes begin with, and the place that stands in.
type service struct {
	prefix  string
	country string
	state   string // in English; empty stands for the whole country
	title   string
}

// services are the services by the beginning of their codes (EAWS, micro-regions). A country that is
// not here is one service.
var services = []service{
	{"AT-02-", "AT", "Carinthia", "Carinthia, Austria"}, {"AT-03-", "AT", "Lower Austria", "Lower Austria"}, {"AT-04-", "AT", "Upper Austria", "Upper Austria"},
	{"AT-05-", "AT", "Salzburg", "Salzburg, Austria"}, {"AT-06-", "AT", "Styria", "Styria, Austria"}, {"AT-07-", "AT", "Tyrol", "Tyrol, Austria"},
	{"AT-08-", "AT", "Vorarlberg", "Vorarlberg, Austria"}, {"DE-BY-", "DE", "Bavaria", "Bavaria, Germany"},
	{"IT-32-BZ-", "IT", "Trentino-Alto Adige", "South Tyrol, Italy"}, {"IT-32-TN-", "IT", "Trentino-Alto Adige", "Trentino, Italy"},
	{"CH-", "CH", "", "Switzerland"}, {"SI-", "SI", "", "Slovenia"}, {"SK-", "SK", "", "Slovakia"},
}

// serviceOf returns the service of a region.
func serviceOf(region string) service {
	i := slices.IndexFunc(services, func(s service) bool { return strings.HasPrefix(region, s.prefix) })
	if i < 0 {
		return service{region[:3], region[:2], "", region[:2]}
	}
	return services[i]
}

// advice returns the text of travelAdvisory, an object whose members are texts.
func advice(raw jsontext.Value) string {
	var a struct {
		Highlights string `json:"highlights"`
		Comment    string `json:"comment"`
	}
	if len(raw) == 0 || json.Unmarshal(raw, &a, lenient.Options) != nil {
		return ""
	}
	return lenient.Joined("\n", text(a.Highlights), text(a.Comment))
}
