package mirror

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/client"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/source"
	"github.com/hazardd/hazardd/internal/source/frame"
	"github.com/hazardd/hazardd/wire"
)

// Parse reads hazards in the field names of the base interface, section 2.6: the array that /hazards/active and its two variants answer,
// or a single hazard, as those of the source with that name. Its batch is never Whole: whether a file holds all active hazards or those of a category, it does not say.
func Parse(payload []byte, name string, schemes source.Schemes, now hazard.Instant) (source.Batch, error) {
	payload = bytes.TrimSpace(bytes.TrimPrefix(payload, []byte("\ufeff")))
	if len(payload) > 0 && payload[0] == '{' && frame.Member(payload, "type_ID") != nil {
		payload = slices.Concat([]byte{'['}, payload, []byte{']'})
	}
	if what := other(payload); what != "" {
		return source.Batch{}, source.Errorf("%s; expected an array of hazards, or a hazard, in the field names of the base interface", what)
	}
	hazards, rejected, err := client.ReadList[wire.Hazard](bytes.NewReader(payload))
	l := listOf(client.List[wire.Hazard]{Items: hazards, Rejected: rejected}, name, schemes, now)
	return l.batch(nil), payloadError(err, len(hazards) > 0)
}

// other names a document of another kind.
func other(payload []byte) string {
	if len(payload) == 0 || payload[0] == '<' {
		return map[bool]string{true: "nothing", false: "XML or HTML"}[len(payload) == 0]
	}
	if payload[0] == '[' {
		c := frame.Cursor{Doc: payload, At: 1}
		if c.Next() != '{' {
			return ""
		}
		first, err := c.Value()
		if err != nil || frame.Member(first, "product_ID") == nil || frame.Member(first, "type_ID") != nil {
			return ""
		}
		return "an array of products, which say nothing of their hazard"
	}
	if payload[0] != '{' {
		return ""
	}
	switch kind := frame.Word(frame.Member(payload, "type")); {
	case kind == "FeatureCollection" || kind == "Feature":
		return "a GeoJSON " + kind
	case kind == "Polygon" || kind == "MultiPolygon":
		return "a GeoJSON geometry"
	case frame.Member(payload, "Sns") != nil:
		return "a message pushed to a subscriber, whose hazards have other field names"
	case frame.Member(payload, "totalByAdmin") != nil:
		return "an exposure of a hazard"
	}
	return "an object without the member type_ID"
}

// payloadError is the error of a list that could not be read, or not to its end.
func payloadError(err error, something bool) error {
	bad, ok := errors.AsType[*client.AnswerError](err)
	if !ok {
		return err
	}
	return &source.PayloadError{Reason: bad.Reason, Cut: bad.Cut || something}
}

// list is what a server says of its hazards, in its order, each once.
type list struct {
	records []record
	rejects []source.Reject
	ignored int // repetitions
	read    int
}

// record is a hazard of the list.
type record struct {
	wire.Hazard
	id     uuid.UUID
	report hazard.Report // zero if reject is not
	reject string
	at     int // the index of the reject
}

// listOf maps a list at now.
func listOf(l client.List[wire.Hazard], name string, schemes source.Schemes, now hazard.Instant) *list {
	out := &list{read: len(l.Items) + len(l.Rejected)}
	for _, r := range l.Rejected {
		reject := source.Reject{Record: strconv.Itoa(r.Index), Reason: r.Err.Error(), Raw: source.Keep(r.Raw)}
		if id := cmp.Or(frame.Word(frame.Member(r.Raw, "uuid")), string(frame.Member(r.Raw, "hazard_ID"))); id != "" {
			reject.Record = frame.ExcerptText(id)
		}
		// The hazard goes on, whatever is wrong with its record.
		number, _ := strconv.ParseInt(string(bytes.Trim(frame.Member(r.Raw, "hazard_ID"), `"`)), 10, 64)
		id, ok := readUUID(frame.Word(frame.Member(r.Raw, "uuid")))
		if ok {
			reject.Events = []string{id.String()}
		}
		out.rejects = append(out.rejects, reject)
		out.records = append(out.records, record{Hazard: wire.Hazard{HazardID: number}, id: id, reject: "-", at: len(out.rejects) - 1})
	}
	at := map[uuid.UUID]int{}
	for _, h := range l.Items {
		r := record{Hazard: h}
		r.report, r.reject = report(&h, name, schemes, now)
		r.id, _ = readUUID(h.UUID)
		if r.reject != "" {
			reject := source.Reject{Record: recordName(&h), Reason: r.reject, Raw: raw(&h)}
			if r.id != uuid.Nil {
				reject.Events = []string{r.id.String()}
			}
			r.at = len(out.rejects)
			out.rejects = append(out.rejects, reject)
			out.records = append(out.records, r)
			continue
		}
		// Several rows of one uuid occur (spec, "How clients suffer"): the latest counts.
		if i, twice := at[r.id]; twice {
			out.ignored++
			if out.records[i].report.Version < r.report.Version {
				out.records[i] = r
			}
			continue
		}
		at[r.id] = len(out.records)
		out.records = append(out.records, r)
	}
	return out
}

// batch is the batch of a list. known gives the report of a hazard whose record can no longer be read: what was said last stands.
func (l *list) batch(known func(*record) (hazard.Report, bool)) source.Batch {
	b := source.Batch{Read: l.read, Ignored: l.ignored, Rejects: slices.Clone(l.rejects)}
	for i := range l.records {
		r := &l.records[i]
		if r.reject == "" {
			b.Reports = append(b.Reports, r.report)
		} else if known != nil {
			if last, ok := known(r); ok {
				b.Reports = append(b.Reports, last)
				b.Rejects[r.at].Events = []string{last.Key}
			}
		}
	}
	return b
}

// recordName names a record for a reject.
func recordName(h *wire.Hazard) string {
	return frame.ExcerptText(cmp.Or(h.UUID, "hazard_ID "+strconv.FormatInt(h.HazardID, 10)))
}

// raw is the part of a record that tells what may be wrong with it.
func raw(h *wire.Hazard) []byte {
	return source.Keep(fmt.Appendf(nil, "hazard_ID %d, uuid %q, hazard_Name %q, type_ID %q, severity_ID %q, category_ID %q, status %q, start_Date %q, end_Date %q, last_Update %q, latitude %v, longitude %v",
		h.HazardID, h.UUID, h.HazardName, h.TypeID, h.SeverityID, h.CategoryID, h.Status, h.StartDate, h.EndDate, h.LastUpdate, h.Latitude, h.Longitude))
}

// readUUID reads a uuid in its usual form.
func readUUID(s string) (uuid.UUID, bool) {
	s = strings.TrimSpace(s)
	id, err := uuid.Parse(s)
	return id, err == nil && len(s) == 36 && id != uuid.Nil && id != uuid.Max
}
