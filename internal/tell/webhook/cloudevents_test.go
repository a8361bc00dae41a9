package webhook

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	cloudevents "github.com/cloudevents/sdk-go/v2/protocol/http"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/wire"
)

// event reads a message with the CloudEvents SDK, which detects the mode by itself.
func (p post) event(t testing.TB) (*event.Event, wire.Change) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+p.host, strings.NewReader(p.body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = p.header
	e, err := cloudevents.NewEventFromHTTPRequest(req)
	if err != nil {
		t.Fatalf("%v: %v %s", err, p.header, p.body)
	}
	if err := e.Validate(); err != nil {
		t.Errorf("%v: %v %s", err, p.header, p.body)
	}
	var c wire.Change
	if err := e.DataAs(&c); err != nil {
		t.Fatalf("%v: %s", err, p.body)
	}
	return e, c
}

func TestCloudEventsSayWhatTheStandardFormatSays(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		hooks := map[string]Webhook{}
		for host, format := range map[string]Format{"plain.example": Standard, "whole.example": CloudEvents, "binary.example": CloudEventsBinary} {
			hooks[host] = b.hook("ann", `"url":"https://`+host+`/hook","format":"`+string(format)+`"`)
		}
		stop := b.run(b.svc)
		defer stop()
		h := b.flood()
		settle()
		b.save(h.ID, severity(hazard.Warning))
		settle()
		b.note(h.ID, "a note")
		settle()
		for _, host := range []string{"plain.example", "whole.example", "binary.example"} { // including late messages
			b.net.serve(host, status(500))
		}
		b.save(h.ID, severity(hazard.Advisory))
		settle()
		b.save(h.ID, over)
		time.Sleep(2 * time.Minute)
		for _, host := range []string{"plain.example", "whole.example", "binary.example"} {
			b.net.serve(host, status(200))
		}
		time.Sleep(time.Hour)
		stop()
		plain := b.net.to("plain.example")
		if len(plain) < 5 {
			t.Fatalf("%d messages", len(plain))
		}
		late := false
		for host, contentType := range map[string]string{"whole.example": "application/cloudevents+json; charset=utf-8", "binary.example": "application/json"} {
			got := b.net.to(host)
			if len(got) != len(plain) {
				t.Fatalf("%s got %d messages, want %d", host, len(got), len(plain))
			}
			for i, p := range got {
				_, want := plain[i].standard(t)
				e, c := p.event(t)
				kind, about := "hazards/", ""
				if c.Hazard != nil {
					about = c.Hazard.UUID
				} else {
					kind, about = "products/", c.Product.UUID
				}
				at, err := time.Parse(time.RFC3339, c.Time)
				if err != nil || e.ID() != strconv.FormatInt(want.Change, 10) || e.Source() != base+"/webhooks/"+hooks[host].ID || e.Type() != wire.CloudEventType+want.Type || e.Subject() != kind+about ||
					!e.Time().Equal(at) || e.DataSchema() != base+"/openapi.json#/components/schemas/Change" || e.DataContentType() != "application/json" || len(e.Extensions()) > 0 {
					t.Errorf("%s got %v, want change %+v", host, e, want)
				}
				if c.Change != want.Change || c.Type != want.Type || c.Late != want.Late || len(c.Changes) != len(want.Changes) {
					t.Errorf("%s got %+v, want %+v", host, c, want)
				}
				late = late || c.Late
				if p.header.Get("Content-Type") != contentType {
					t.Errorf("%s got %v", host, p.header)
				}
				if err := p.verify(hooks[host].Secret); err != nil {
					t.Errorf("%s: %v", host, err)
				}
			}
		}
		if !late {
			t.Error("nothing came late")
		}
	})
}

func TestATestIsACloudEventToo(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		for _, format := range []Format{CloudEvents, CloudEventsBinary} {
			host := string(format) + ".example"
			h := b.hook("ann", `"url":"https://`+host+`/hook","format":"`+string(format)+`"`)
			if tested, err := b.svc.Test(t.Context(), b.author("ann"), h.ID, now()); err != nil || !tested.Delivered {
				t.Fatalf("%+v %v", tested, err)
			}
			got := b.net.to(host)
			if len(got) != 1 {
				t.Fatalf("%d messages", len(got))
			}
			if e, _ := got[0].event(t); e.Type() != wire.CloudEventType+"test" || !strings.HasPrefix(e.ID(), "msg_test_") || e.Time().IsZero() {
				t.Errorf("%v", e)
			}
		}
	})
}
