package wire

import (
	"fmt"
	"strconv"
	"strings"
)

// CloudEvent is an event in the JSON format of CloudEvents 1.0. Streams and webhooks use it on
// request.
type CloudEvent struct {
	SpecVersion string `json:"specversion"`
	// ID is the same when an event is sent again. Source and ID together identify an event.
	ID     string `json:"id"`
	Source string `json:"source"` // address of the stream or the webhook
	Type   string `json:"type"`   // CloudEventType followed by the type of the change
	// Subject is the path of the hazard or product below the service's public address.
	Subject         string `json:"subject,omitzero"`
	Time            string `json:"time,omitzero"` // time of the change
	DataContentType string `json:"datacontenttype"`
	DataSchema      string `json:"dataschema,omitzero"`
	Data            any    `json:"data"`
}

// CloudEventType is the prefix of the type of all our events.
const CloudEventType = "io.github.hazardd."

// NewCloudEvent returns an event that is not about a change.
func NewCloudEvent(source, id, kind string, data any) CloudEvent {
	return CloudEvent{SpecVersion: "1.0", ID: id, Source: source, Type: CloudEventType + kind, DataContentType: "application/json", Data: data}
}

// CloudEvent returns the change as a CloudEvent. base is the service's public address, and source
// an address below it.
func (c *Change) CloudEvent(base, source string) CloudEvent {
	e := NewCloudEvent(source, strconv.FormatInt(c.Change, 10), c.Type, c)
	e.Time, e.DataSchema = c.Time, base+"/openapi.json#/components/schemas/Change"
	switch {
	case c.Hazard != nil:
		e.Subject = "hazards/" + c.Hazard.UUID
	case c.Product != nil:
		e.Subject = "products/" + c.Product.UUID
	}
	return e
}

// Header returns the attributes as HTTP header fields for the binary content mode (HTTP protocol
// binding, section 3.1), in which the body is Data. The content type is not among them.
func (e *CloudEvent) Header() map[string]string {
	header := map[string]string{}
	for name, value := range map[string]string{"specversion": e.SpecVersion, "id": e.ID, "source": e.Source, "type": e.Type, "subject": e.Subject, "time": e.Time, "dataschema": e.DataSchema} {
		if value != "" {
			header["ce-"+name] = percent(value)
		}
	}
	return header
}

// percent encodes the bytes that a header field cannot hold (section 3.1.3.2).
func percent(text string) string {
	var b strings.Builder
	for i := range len(text) {
		if c := text[i]; c <= ' ' || c >= 0x7f || c == '"' || c == '%' {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
