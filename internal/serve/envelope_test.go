package serve_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"

	"github.com/hazardd/hazardd/wire"
)

// enveloped reads the data of a stream's block with the CloudEvents SDK.
func enveloped(t *testing.T, b block) (e event.Event) {
	t.Helper()
	if err := json.Unmarshal([]byte(b.data), &e); err != nil {
		t.Fatalf("%v: %s", err, b.data)
	}
	if err := e.Validate(); err != nil {
		t.Errorf("%v: %s", err, b.data)
	}
	return e
}

func TestAStreamComesAsCloudEventsToWhoAsksForThem(t *testing.T) {
	s := start(t)
	plain, wrapped := s.subscribe("reader", ""), s.subscribe("reader", "?envelope=cloudevents")
	narrow := s.subscribe("reader", "?envelope=cloudevents&severity=WATCH")
	h := s.hazard("red", "severity_ID", "WATCH")
	s.product("red", h.HazardID, note())
	s.do("red", "PATCH", "/hazards/"+h.UUID, map[string]string{"severity_ID": "ADVISORY"})
	s.do("red", "PATCH", "/hazards/"+h.UUID, map[string]string{"status": "E"})
	for range 4 {
		want, got := plain.next(), wrapped.next()
		e := enveloped(t, got)
		var a, b any
		if err := json.Unmarshal([]byte(want.data), &a); err != nil {
			t.Fatal(err)
		}
		if err := e.DataAs(&b); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(a, b); diff != "" || got.id != want.id || got.event != want.event {
			t.Errorf("%+v of %+v: %s", got, want, diff)
		}
		if e.ID() != want.id || e.Type() != wire.CloudEventType+want.event || e.Source() != s.URL()+"/events" || e.Time().IsZero() || e.DataSchema() != s.URL()+"/openapi.json#/components/schemas/Change" ||
			!strings.HasPrefix(e.Subject(), map[bool]string{true: "products/", false: "hazards/" + h.UUID}[strings.HasPrefix(want.event, "product")]) {
			t.Errorf("%v of %+v", e, want)
		}
	}
	for range 2 { // the creation and the product
		enveloped(t, narrow.next())
	}
	var c wire.Change
	if err := func() error { e := enveloped(t, narrow.next()); return e.DataAs(&c) }(); err != nil || !c.Left {
		t.Errorf("%v %+v", err, c)
	}

	// A reset is an event too.
	reset := s.subscribe("reader", "?envelope=cloudevents&after=999999").next()
	e := enveloped(t, reset)
	if reset.event != "reset" || e.Type() != wire.CloudEventType+"reset" || e.ID() != "reset-"+reset.id || !strings.Contains(string(e.Data()), `"reason":"replaced"`) {
		t.Errorf("%+v", reset)
	}

	// A ticket contains the envelope.
	var ticket struct{ URL string }
	s.do("reader", "POST", "/events/tickets?envelope=cloudevents&after=0", nil).JSON(t, &ticket)
	resp, err := s.client.Do(newRequest(t, nil, "", http.MethodGet, ticket.URL, nil))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); ; {
		if !lines.Scan() {
			t.Fatal(lines.Err())
		}
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			enveloped(t, block{data: data})
			break
		}
	}

	for _, path := range []string{"/events?envelope=", "/events?envelope=json", "/events?envelope=cloudevents&envelope=cloudevents", "/changes?envelope=cloudevents"} {
		wantProblem(t, s.do("reader", "GET", path, nil), http.StatusBadRequest)
	}
	wantProblem(t, s.do("reader", "POST", "/events/tickets?envelope=x", nil), http.StatusBadRequest)
}
