package page

import (
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/hazardd/hazardd/internal/hazard"
)

// Change is one change in a hazard's history, as seen by a visitor who may see it.
type Change struct {
	*hazard.Change
	// Fields are the fields that the change modified, by their names in the base interface.
	Fields []Field
}

// Field is a field's value before and after a change, as in JSON: text, a number, a bool or nil.
type Field struct {
	Name     string
	From, To any
}

// change is a Change as the page shows it.
type change struct {
	Number int64
	At     moment
	What   string
	Who    string
	Note   string
	Fields []field
}

type field struct {
	Name     string
	From, To string
	Long     bool // the values are long texts
}

// kinds maps the kinds of change to keys of words.
var kinds = map[hazard.ChangeKind]string{
	hazard.HazardCreated: "changeHazardCreated", hazard.HazardUpdated: "changeHazardUpdated", hazard.HazardExpired: "changeHazardExpired", hazard.HazardMerged: "changeHazardMerged",
	hazard.HazardSplit: "changeHazardSplit", hazard.ProductCreated: "changeProductCreated", hazard.ProductUpdated: "changeProductUpdated", hazard.ProductDeleted: "changeProductDeleted",
}

// unread maps the fields whose values are for programs to the keys of the words shown instead.
var unread = map[string]string{"area": "redrawn", "shapes": "redrawn", "measurements": "newValues"}

// labels maps the fields that are shown to keys of words. The other fields hold when and by whom,
// which the page shows beside the change.
var labels = map[string]string{
	"hazard_Name": "field_hazard_Name", "description": "field_description", "type_ID": "type", "severity_ID": "severity", "category_ID": "category", "status": "field_status",
	"autoexpire": "field_autoexpire", "start_Date": "field_start_Date", "end_Date": "field_end_Date", "latitude": "field_latitude", "longitude": "field_longitude", "snc_url": "sourcePage",
	"comment_Text": "comment", "creator": "reportedBy", "org_ID": "organization", "area": "field_area", "people": "peopleThere", "measurements": "field_measurements", "shapes": "field_shapes",
	"title": "field_title", "product_Type": "kind", "data": "field_data", "filename": "file", "parent_ID": "folder", "is_Hidden": "field_is_Hidden", "security_Flag": "field_security_Flag",
	"org_IDs": "field_org_IDs", "timeline_Date": "field_timeline_Date", "geo_Locations": "field_geo_Locations",
}

// longValue is the length, in characters, from which a value is shown on demand only.
const longValue = 90

func (c *Hazard) change(ch *Change) change {
	out := change{Number: ch.Number, At: c.at(ch.At, c.Now), What: c.say(kinds[ch.Kind])}
	switch {
	case ch.Product != nil:
		out.What += ": " + ch.Product.Title
	case ch.Hazard.Reason != "" && ch.Kind == hazard.HazardExpired:
		out.What += ": " + c.say("reason"+reasons[ch.Hazard.Reason])
		out.Note = ch.Hazard.Note
	}
	switch {
	case ch.Actor != "":
		out.Who = c.say("by", "who", ch.Actor)
	case ch.Source != "":
		out.Who = c.say("from", "source", c.sourceTitle(ch.Source))
	default:
		out.Who = c.say("byService")
	}
	for _, f := range ch.Fields {
		key, ok := labels[f.Name]
		if !ok {
			continue
		}
		label := c.say(key)
		if word := unread[f.Name]; word != "" {
			out.Fields = append(out.Fields, field{Name: label, To: c.say(word)})
			continue
		}
		shown := field{Name: label, From: c.value(f.Name, f.From), To: c.value(f.Name, f.To)}
		shown.Long = utf8.RuneCountInString(shown.From)+utf8.RuneCountInString(shown.To) > longValue
		out.Fields = append(out.Fields, shown)
	}
	return out
}

// value returns a field's value in words.
func (c *Hazard) value(name string, v any) string {
	text := ""
	switch v := v.(type) {
	case nil:
	case string:
		text = v
	case float64:
		text = strconv.FormatFloat(v, 'f', -1, 64)
	default:
		b, err := json.Marshal(v)
		if err != nil {
			b = fmt.Append(nil, v)
		}
		text = string(b)
	}
	switch name {
	case "people":
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return c.grouped(hazard.TwoDigits(n))
		}
		return c.say("peopleUnknown")
	case "start_Date", "end_Date", "timeline_Date":
		if ms, err := strconv.ParseInt(text, 10, 64); err == nil {
			return c.at(hazard.Instant(ms), c.Now).Words
		}
	case "severity_ID":
		if s, ok := hazard.ParseSeverity(text); ok {
			return c.severity(s)
		}
	case "type_ID":
		return c.language().NameOf("type", text)
	case "category_ID":
		return c.language().NameOf("category", text)
	case "org_ID":
		if id, err := strconv.ParseInt(text, 10, 64); err == nil {
			return c.org(id)
		}
	}
	keys := map[string]string{
		"status A": "stateA", "status E": "stateE", "autoexpire Y": "yes", "autoexpire N": "no", "is_Hidden Y": "yes", "is_Hidden N": "no",
		"security_Flag R": "yes", "security_Flag A": "no", "parent_ID 0": "none",
	}
	if key, ok := keys[name+" "+text]; ok {
		return c.say(key)
	}
	if text == "" {
		return c.say("nothing")
	}
	return text
}
