package wire

import (
	"fmt"
	"strconv"
	"strings"
)

// CloudEvent is an event in the JSON format of CloudEvents 1.0, as streams and webhooks have it for those who ask for that envelope.
type CloudEvent struct {
	SpecVersion string `json:"specversion"`
	// ID is the same for whatever is told twice. Source and ID together name an event.
	ID     string `json:"id"`
	Source string `json:"source"` // address of the stream or the webhook
	Type   string `json:"type"`   // CloudEventType and the type of the change
	// Subject is the hazard or product, as a path below the service's public address.
	Subject         string `json:"subject,omitzero"`
	Time            string `json:"time,omitzero"` // of the change
	DataContentType string `json:"datacontenttype"`
	DataSchema      string `json:"dataschema,omitzero"`
	Data            any    `json:"data"`
}

// CloudEventType begins the type of each of our events.
const CloudEventType = "io.github.hazardd."

// NewCloudEvent is an event that is of no change.
func NewCloudEvent(source, id, kind string, data any) CloudEvent {
	return CloudEvent{SpecVersion: "1.0", ID: id, Source: source, Type: CloudEventType + kind, DataContentType: "application/json", Data: data}
}

// CloudEvent is the change in its envelope. base is the service's public address, and source an address below it.
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

// Header are the attributes as fields of HTTP, for the binary mode of its protocol binding, section 3.1: Data is the body then. The
// content type is no field of its own there.
func (e *CloudEvent) Header() map[string]string {
	header := map[string]string{}
	for name, value := range map[string]string{"specversion": e.SpecVersion, "id": e.ID, "source": e.Source, "type": e.Type, "subject": e.Subject, "time": e.Time, "dataschema": e.DataSchema} {
		if value != "" {
			header["ce-"+name] = percent(value)
		}
	}
	return header
}

// percent encodes what a field of HTTP cannot hold (section 3.1.3.2).
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
