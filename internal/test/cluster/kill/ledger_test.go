//go:build unix

package kill

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/google/uuid"
)

// ledger records the writes of clients, and which were acknowledged.
type ledger struct {
	mu       sync.Mutex
	hazards  map[string]*entry
	products map[string]*entry
	fresh    []string // uuids of writes since the last check
	acked    int      // acknowledged writes
	files    int      // acknowledged files
	// dying means that the store fails before the server, so that an answer that the store is
	// unavailable is no fault. lossy means that the test expects a loss; then writes that depend on
	// lost ones are not repeated.
	dying, lossy bool
}

// entry is one hazard or product. Its value is the hazard's name, the product's text, or the file's
// content.
type entry struct {
	create  request
	acked   string // the latest acknowledged value; empty: the creation was not acknowledged
	pending string // a value that may or may not have been written
	file    bool
}

// request is the request that created an entry, to be repeated.
type request struct {
	path, contentType string
	body              []byte
}

func newLedger() *ledger { return &ledger{hazards: map[string]*entry{}, products: map[string]*entry{}} }

// write lets a client write one entry after the other until ctx ends or the server is down.
func (l *ledger) write(ctx context.Context, c *client, seed uint64) error {
	defer c.http.CloseIdleConnections()
	rnd := rand.New(rand.NewPCG(seed, 1))
	var mine []string
	for ctx.Err() == nil {
		id := uuid.NewString()
		var err error
		switch n := rnd.IntN(10); {
		case len(mine) == 0 || n < 4:
			if err = l.create(ctx, c, id); err == nil {
				mine = append(mine, id)
			}
		case n < 7:
			err = l.rename(ctx, c, mine[rnd.IntN(len(mine))])
		case n < 9:
			err = l.text(ctx, c, mine[rnd.IntN(len(mine))], id)
		default:
			err = l.upload(ctx, c, mine[rnd.IntN(len(mine))], id, rnd)
		}
		if refused, ok := errors.AsType[*refusal](err); ok && !(l.dying && refused.status == http.StatusServiceUnavailable) {
			return refused
		}
		if err != nil {
			return nil // the server is down
		}
	}
	return nil
}

// refusal is an answer that the server should not give.
type refusal struct {
	status      int
	contentType string
	retryAfter  string
	answer      string
}

func (r *refusal) Error() string { return fmt.Sprintf("refused with %d: %s", r.status, r.answer) }

// send sends a write, and records its result.
func (l *ledger) send(ctx context.Context, c *client, method string, r request, note func(acknowledged bool)) error {
	l.mu.Lock()
	note(false)
	l.mu.Unlock()
	status, answer, header, err := c.do(ctx, method, r.path, r.contentType, r.body)
	if err != nil {
		return err
	}
	if status >= 300 {
		return &refusal{status, header.Get("Content-Type"), header.Get("Retry-After"), string(answer)}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	note(true)
	l.acked++
	return nil
}

const jsonType = "application/json"

func (l *ledger) create(ctx context.Context, c *client, id string) error {
	name := "made " + id
	body, _ := json.Marshal(map[string]any{"uuid": id, "hazard_Name": name, "type_ID": "FLOOD", "severity_ID": "WATCH", "latitude": 1.5, "longitude": 2.5,
		"area": map[string]any{"type": "Polygon", "coordinates": [][][]float64{{{2, 1}, {3, 1}, {3, 2}, {2, 1}}}}})
	r := request{"/hazards", jsonType, body}
	return l.send(ctx, c, http.MethodPost, r, func(ack bool) {
		if !ack {
			l.hazards[id] = &entry{create: r, pending: name}
			l.fresh = append(l.fresh, id)
			return
		}
		l.hazards[id].acked, l.hazards[id].pending = name, ""
	})
}

func (l *ledger) rename(ctx context.Context, c *client, id string) error {
	name := "renamed " + uuid.NewString()
	body, _ := json.Marshal(map[string]string{"hazard_Name": name})
	return l.send(ctx, c, http.MethodPatch, request{"/hazards/" + id, jsonType, body}, func(ack bool) {
		e := l.hazards[id]
		if !ack {
			e.pending = name
			l.fresh = append(l.fresh, id)
			return
		}
		e.acked, e.pending = name, ""
	})
}

func (l *ledger) text(ctx context.Context, c *client, hazardID, id string) error {
	text := "text " + id
	body, _ := json.Marshal(map[string]string{"uuid": id, "title": "a text", "product_Type": "TEXT_PRODUCT", "data": text})
	return l.product(ctx, c, id, &entry{create: request{"/hazards/" + hazardID + "/products", jsonType, body}, pending: text})
}

func (l *ledger) upload(ctx context.Context, c *client, hazardID, id string, rnd *rand.Rand) error {
	content := make([]byte, 1+rnd.IntN(40_000))
	for i := range content {
		content[i] = byte(rnd.Uint32())
	}
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	object, _ := json.Marshal(map[string]string{"uuid": id, "title": "a file", "product_Type": "FILE_PRODUCT"})
	err := errors.Join(w.WriteField("product", string(object)), func() error {
		part, err := w.CreateFormFile("file", "data.bin")
		if err == nil {
			_, err = part.Write(content)
		}
		return err
	}(), w.Close())
	if err != nil {
		return err
	}
	return l.product(ctx, c, id, &entry{create: request{"/hazards/" + hazardID + "/products", w.FormDataContentType(), form.Bytes()}, pending: string(content), file: true})
}

func (l *ledger) product(ctx context.Context, c *client, id string, e *entry) error {
	return l.send(ctx, c, http.MethodPost, e.create, func(ack bool) {
		if !ack {
			l.products[id] = e
			l.fresh = append(l.fresh, id)
			return
		}
		e.acked, e.pending = e.pending, ""
		if e.file {
			l.files++
		}
	})
}

// check compares the stored data with the acknowledged writes: all of them, or only those since the
// last check. If a result is unknown, it repeats the request. It returns what is lost.
func (l *ledger) check(t testing.TB, c *client, all bool) (lost []string) {
	t.Helper()
	defer c.http.CloseIdleConnections()
	ids := l.fresh
	if all {
		ids = nil
		for id := range l.hazards {
			ids = append(ids, id)
		}
		for id := range l.products {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids) // entries written twice are checked once
	for _, id := range slices.Compact(ids) {
		e, isHazard := l.hazards[id], true
		if e == nil {
			e, isHazard = l.products[id], false
		}
		value, found := l.value(t, c, id, isHazard, e.file)
		switch {
		case found && (value == e.acked || value == e.pending):
		case !found && e.acked == "":
		default:
			lost = append(lost, fmt.Sprintf("%s: found %v %.40q, acknowledged %.40q, perhaps %.40q", id, found, value, e.acked, e.pending))
			continue
		}
		e.acked, e.pending = value, ""
		if l.lossy {
			continue
		}
		if !found { // after repeating the request, it exists once
			l.again(t, c, e)
			if value, found = l.value(t, c, id, isHazard, e.file); !found {
				t.Errorf("%s does not exist after the request was repeated", id)
			}
			e.acked = value
		} else if isHazard && e.acked == "made "+id {
			l.again(t, c, e) // after repeating the request although it exists, it exists once
		}
	}
	l.fresh = nil
	return lost
}

// again repeats the request that created an entry.
func (l *ledger) again(t testing.TB, c *client, e *entry) {
	t.Helper()
	status, answer, _, err := c.do(t.Context(), http.MethodPost, e.create.path, e.create.contentType, e.create.body)
	if err != nil || status != http.StatusOK && status != http.StatusCreated {
		t.Errorf("asked for again: %d %s %v", status, answer, err)
	}
}

// value reads the present value of a hazard or product, and whether there is one.
func (l *ledger) value(t testing.TB, c *client, id string, isHazard, isFile bool) (string, bool) {
	t.Helper()
	path := "/products/" + id
	if isHazard {
		path = "/hazards/" + id
	}
	if isFile {
		path += "/file"
	}
	status, answer, _, err := c.do(t.Context(), http.MethodGet, path, "", nil)
	if err != nil {
		t.Fatalf("read %s: %v", path, err)
	}
	if status == http.StatusNotFound {
		return "", false
	}
	if status != http.StatusOK {
		return fmt.Sprintf("status %d", status), true
	}
	switch {
	case isFile:
		return string(answer), true
	case isHazard:
		var h struct {
			Name string `json:"hazard_Name"`
		}
		if err := json.Unmarshal(answer, &h); err != nil {
			t.Fatal(err)
		}
		return h.Name, true
	}
	var list []struct{ Data string }
	if err := json.Unmarshal(answer, &list); err != nil || len(list) != 1 {
		t.Fatalf("%s: %s", path, answer)
	}
	return list[0].Data, true
}

// checkLog reads the whole log. Every number must be there once, without gaps, and the active list
// must agree with it.
func checkLog(t testing.TB, c *client) (last int64) {
	t.Helper()
	active := map[string]string{}
	for {
		status, answer, _, err := c.do(t.Context(), http.MethodGet, fmt.Sprintf("/changes?limit=1000&after=%d", last), "", nil)
		if err != nil || status != http.StatusOK {
			t.Fatalf("read the log: %d %v", status, err)
		}
		var changes []struct {
			Change int64
			Hazard *struct {
				UUID   string `json:"uuid"`
				Name   string `json:"hazard_Name"`
				Status string `json:"status"`
			}
		}
		if err := json.Unmarshal(answer, &changes); err != nil {
			t.Fatal(err)
		}
		for _, ch := range changes {
			if ch.Change != last+1 {
				t.Fatalf("change %d follows %d", ch.Change, last)
			}
			last = ch.Change
			if ch.Hazard != nil {
				active[ch.Hazard.UUID] = ch.Hazard.Name
				if ch.Hazard.Status != "A" {
					delete(active, ch.Hazard.UUID)
				}
			}
		}
		if len(changes) < 1000 {
			break
		}
	}
	status, answer, _, err := c.do(t.Context(), http.MethodGet, "/hazards/active", "", nil)
	var list []struct {
		UUID string `json:"uuid"`
		Name string `json:"hazard_Name"`
	}
	if err := errors.Join(err, json.Unmarshal(answer, &list)); err != nil || status != http.StatusOK {
		t.Fatalf("read the active hazards: %d %v", status, err)
	}
	if len(list) != len(active) {
		t.Errorf("%d active hazards, the log has %d", len(list), len(active))
	}
	for _, h := range list {
		if active[h.UUID] != h.Name {
			t.Errorf("active hazard %s is %q, in the log %q", h.UUID, h.Name, active[h.UUID])
		}
	}
	return last
}

// writers is the number of concurrent writing clients.
const writers = 4

// busy lets clients write until stop is called, which waits for them.
func (l *ledger) busy(t testing.TB, url, token string, seed uint64) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			if err := l.write(ctx, newClient(url, token), seed+uint64(i)); err != nil {
				t.Error(err)
			}
		})
	}
	return func() {
		cancel()
		wg.Wait()
	}
}
