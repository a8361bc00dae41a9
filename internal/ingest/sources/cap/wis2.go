package cap

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/klauspost/compress/gzip"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// notice is a notification message of WMO's Information System 2.0 (WIS2 Notification Message,
// WMO-No. 1060 appendix; schemas.wmo.int): a GeoJSON Feature that says that there is data, and
// where. Small data is included.
type notice struct {
	Properties struct {
		DataID  string `json:"data_id"` // "unique identifier of the data"; a new version has the same
		PubTime string `json:"pubtime"` // when the notification was published
		Content *struct {
			Encoding string `json:"encoding"` // utf-8, base64, gzip (in base64)
			Value    string `json:"value"`
		} `json:"content"`
	} `json:"properties"`
	Links []struct {
		Href string `json:"href"`
		Rel  string `json:"rel"`  // canonical, update or deletion mark the data itself; other links are additional
		Type string `json:"type"` // media type
	} `json:"links"`
}

var notices = lenient.Collection{Want: "notifications", Lists: []string{"features"}, Heads: []string{"type", "properties", "links"}}

// maxContent bounds the decoded content of a notification. The specification allows 4 KiB.
const maxContent = 1 << 20

// isNotice reports whether a JSON object is a notification, or a list of them.
func isNotice(text []byte) bool {
	switch lenient.Word(lenient.Member(text, "type")) {
	case "Feature":
		return lenient.Member(lenient.Member(text, "properties"), "data_id") != nil
	case "FeatureCollection": // an empty list belongs to a replay service if it has numberMatched, as in OGC API - Features
		features := lenient.Member(text, "features")
		empty := len(bytes.Trim(features, "[] \t\r\n")) == 0
		return empty && lenient.Member(text, "numberMatched") != nil || bytes.Contains(features, []byte(`"data_id"`))
	}
	return false
}

// notices reads a single notification, or a list of them from a replay service.
func (r *jsonReader) notices(text []byte) error {
	doc, err := notices.Read(text, func(_ func() string, raw []byte) { r.notice(raw) })
	if err == nil && doc.Listed == "" {
		r.notice(doc.Object)
	}
	return err
}

func (r *jsonReader) notice(raw []byte) {
	var n notice
	if err := json.Unmarshal(raw, &n); err != nil {
		r.bad.Add(source.Reject{Record: "notification", Reason: fmt.Sprintf("a notification: %.200s", err), Raw: source.Keep(raw)})
		return
	}
	p := &n.Properties
	if c := p.Content; c != nil {
		text, err := decoded(c.Encoding, c.Value)
		if err != nil {
			r.bad.Add(source.Reject{Record: hazard.CleanLine(lenient.Cut(p.DataID, maxID)), Reason: fmt.Sprintf("properties/content: %.200s", err), Raw: source.Keep(raw)})
		} else if bytes.Contains(text, []byte("urn:oasis:names:tc:emergency:cap:")) { // otherwise the content is not an alert
			doc, err := Read(text, "")
			if err == nil && len(doc.Messages) > 0 {
				r.doc.Messages = append(r.doc.Messages, doc.Messages...)
				return
			}
			for _, bad := range doc.Bad {
				r.bad.Add(bad)
			}
		}
	}
	for _, l := range n.Links {
		if slices.Contains([]string{"canonical", "update"}, l.Rel) && mayBeAlert(l.Type, l.Href) && len(r.doc.Links) < maxAlerts {
			r.doc.Links = append(r.doc.Links, source.Link{URL: lenient.Cut(l.Href, maxAddress), ID: lenient.Cut(p.DataID, maxID) + " " + lenient.Cut(p.PubTime, 40)})
			return // the first link is the cache's
		}
	}
}

// mayBeAlert reports whether data of a media type may be a CAP alert. The topics of warnings also
// carry formats of aviation bulletins.
func mayBeAlert(media, address string) bool {
	media, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(media)), ";")
	switch media {
	case "application/cap+xml":
		return true
	case "application/xml", "text/xml", "":
		return !strings.Contains(strings.ToLower(address), "iwxxm")
	}
	return false
}

// decoded returns the decoded content of a notification.
func decoded(encoding, value string) ([]byte, error) {
	if encoding == "utf-8" || encoding == "" {
		return []byte(value), nil
	}
	raw, err := base64.StdEncoding.DecodeString(value)
	switch {
	case err != nil:
		return nil, err
	case encoding == "base64":
		return raw, nil
	case encoding != "gzip":
		return nil, fmt.Errorf("encoding %.20q, expected utf-8, base64 or gzip", encoding)
	}
	z, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(z, maxContent+1))
	if err == nil && len(text) > maxContent {
		err = fmt.Errorf("more than %d bytes", maxContent)
	}
	return text, err
}
