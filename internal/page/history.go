package page

import (
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/hazardd/hazardd/internal/hazard"
)

// Change is one change in the history of a hazard, as one who may know of it sees it.
type Change struct {
	*hazard.Change
	// Fields are the fields that differ from the state before, under their names in the base interface.
	Fields []Field
}

// Field is a field's value before and after a change: text, a number, a bool or nil, as JSON has them.
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
	Long     bool // the values are texts of some length
}

// kinds are the kinds of change in words.
var kinds = map[hazard.ChangeKind]string{
	hazard.HazardCreated: "Reported", hazard.HazardUpdated: "Updated", hazard.HazardExpired: "Ended", hazard.HazardMerged: "Merged with another hazard",
	hazard.HazardSplit: "Parted from another hazard", hazard.ProductCreated: "Product added", hazard.ProductUpdated: "Product changed", hazard.ProductDeleted: "Product removed",
}

// labels are the fields that are shown, in words. The others say when and by whom, which stands beside them.
var labels = map[string]string{
	"hazard_Name": "Name", "description": "Description", "type_ID": "Type", "severity_ID": "Severity", "category_ID": "Category", "status": "Status",
	"autoexpire": "Ends by itself", "start_Date": "Start", "end_Date": "End", "latitude": "Latitude", "longitude": "Longitude", "snc_url": "Page of the source",
	"comment_Text": "Comment", "creator": "Reported by", "org_ID": "Organization", "area": "Area",
	"title": "Title", "product_Type": "Kind", "data": "Content", "filename": "File", "parent_ID": "Folder", "is_Hidden": "Hidden", "security_Flag": "Restricted",
	"org_IDs": "Restricted to", "timeline_Date": "Time", "geo_Locations": "Place",
}

// longValue is from how many characters on a value is shown on demand only.
const longValue = 90

func (c *Hazard) change(ch *Change) change {
	out := change{Number: ch.Number, At: at(ch.At, c.Now), What: kinds[ch.Kind]}
	switch {
	case ch.Product != nil:
		out.What += ": " + ch.Product.Title
	case ch.Hazard.Reason != "" && ch.Kind == hazard.HazardExpired:
		out.What += ": " + reasons[ch.Hazard.Reason].short
		out.Note = ch.Hazard.Note
	}
	switch {
	case ch.Actor != "":
		out.Who = "by " + ch.Actor
	case ch.Source != "":
		out.Who = "from " + c.sourceTitle(ch.Source)
	default:
		out.Who = "by the service itself"
	}
	for _, f := range ch.Fields {
		label, ok := labels[f.Name]
		if !ok {
			continue
		}
		if f.Name == "area" { // its text is a list of digests
			out.Fields = append(out.Fields, field{Name: label, To: "redrawn"})
			continue
		}
		shown := field{Name: label, From: c.value(f.Name, f.From), To: c.value(f.Name, f.To)}
		shown.Long = utf8.RuneCountInString(shown.From)+utf8.RuneCountInString(shown.To) > longValue
		out.Fields = append(out.Fields, shown)
	}
	return out
}

// value is a field's value in words.
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
	case "start_Date", "end_Date", "timeline_Date":
		if ms, err := strconv.ParseInt(text, 10, 64); err == nil {
			return at(hazard.Instant(ms), c.Now).Words
		}
	case "severity_ID":
		if s, ok := hazard.ParseSeverity(text); ok {
			return severityName(s)
		}
	case "type_ID":
		return typeName(hazard.Type(text))
	case "category_ID":
		if info, ok := hazard.Category(text).Info(); ok {
			return info.Name
		}
	case "org_ID":
		if id, err := strconv.ParseInt(text, 10, 64); err == nil {
			return c.org(id)
		}
	}
	words := map[string]string{
		"status A": "active", "status E": "ended", "autoexpire Y": "yes", "autoexpire N": "no", "is_Hidden Y": "yes", "is_Hidden N": "no",
		"security_Flag R": "yes", "security_Flag A": "no", "parent_ID 0": "none",
	}
	if w, ok := words[name+" "+text]; ok {
		return w
	}
	if text == "" {
		return "nothing"
	}
	return text
}
