package drill_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hazardd/hazardd/client"
	"github.com/hazardd/hazardd/internal/edit/drill"
	"github.com/hazardd/hazardd/internal/edit/drill/scenarios"
	"github.com/hazardd/hazardd/internal/test/server"
	"github.com/hazardd/hazardd/wire"
)

// Both built-in scenarios are played completely on the real service.
func TestADrillIsPlayedOnTheRealService(t *testing.T) {
	for _, name := range []string{"earthquake-tsunami", "cyclone-flood"} {
		t.Run(name, func(t *testing.T) {
			server := server.Serve(t)
			c := newClient(t, server)
			flood := server.Do("red", "POST", "/hazards", `{"hazard_Name":"Real flood","type_ID":"FLOOD","severity_ID":"WARNING","latitude":1,"longitude":2}`)
			if flood.Status != 201 {
				t.Fatalf("%d %s", flood.Status, flood.Body)
			}
			s := builtIn(t, name)
			var events []drill.Event
			var severest int
			p := &drill.Player{Server: c, Speed: 1e9, Run: drill.NewRun(), Told: func(e drill.Event) {
				events = append(events, e)
				list, err := c.ActiveByCategory(t.Context(), "EXERCISE")
				if err != nil {
					t.Error(err)
				}
				severest = max(severest, len(list.Items))
			}}
			if err := p.Play(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			if severest < 6 {
				t.Errorf("at most %d hazards at once", severest)
			}
			for i, e := range events {
				if e.Skipped != "" {
					t.Errorf("line %d was skipped: %s", e.Line, e.Skipped)
				}
				if i < len(s.Steps) && e.Line != s.Steps[i].Line {
					t.Errorf("event %d is of line %d, want %d", i, e.Line, s.Steps[i].Line)
				}
			}
			// Everything created is a drill, has ended, and can be read. Real hazards are
			// unchanged.
			made := map[string]bool{}
			for _, e := range events {
				if e.UUID != "" {
					made[e.UUID] = true
				}
			}
			if len(made) != len(s.Hazards()) {
				t.Errorf("%d hazards, want %d", len(made), len(s.Hazards()))
			}
			files := 0
			for id := range made {
				h, err := c.Hazard(t.Context(), id)
				if err != nil {
					t.Fatal(err)
				}
				if h.Item.CategoryID != "EXERCISE" || h.Item.Status != "E" || !strings.HasPrefix(h.Item.HazardName, "EXERCISE - ") ||
					!strings.HasPrefix(h.Item.Description, "EXERCISE EXERCISE EXERCISE") || h.Item.AutoExpire != "Y" {
					t.Errorf("%+v", h.Item)
				}
				products, err := c.Products(t.Context(), id)
				if err != nil {
					t.Fatal(err)
				}
				for _, p := range products.Items {
					if !strings.HasPrefix(p.Title, "EXERCISE - ") {
						t.Errorf("product %q", p.Title)
					}
					if p.ProductType == "FILE_PRODUCT" {
						files++
						if !strings.HasPrefix(*p.Filename, "EXERCISE-") {
							t.Errorf("file %q", *p.Filename)
						}
						f, err := c.DownloadFile(t.Context(), p.UUID)
						if err != nil {
							t.Fatal(err)
						}
						if body, err := io.ReadAll(f.Body); err != nil || len(body) == 0 {
							t.Errorf("file %q: %d bytes, %v", *p.Filename, len(body), err)
						}
						f.Body.Close()
					}
				}
			}
			if files < 3 {
				t.Errorf("%d files", files)
			}
			active, err := c.Active(t.Context())
			if err != nil || len(active.Items) != 1 || active.Items[0].HazardName != "Real flood" {
				t.Errorf("active afterwards: %+v, %v", active.Items, err)
			}
		})
	}
}

func TestEndEndsWhatEarlierRunsHaveLeftAndNothingElse(t *testing.T) {
	server := server.Serve(t)
	c := newClient(t, server)
	s, other := parsed(t, head+flood), parsed(t, strings.Replace(head, "drill", "other", 1)+flood)
	for _, play := range []*drill.Scenario{s, s, other} {
		p := &drill.Player{Server: c, Speed: 1, Keep: true, Run: drill.NewRun(), Told: func(drill.Event) {}}
		if err := p.Play(t.Context(), play); err != nil {
			t.Fatal(err)
		}
	}
	byHand := server.Do("red", "POST", "/hazards", `{"hazard_Name":"By hand","type_ID":"FLOOD","severity_ID":"WARNING","category_ID":"EXERCISE","latitude":1,"longitude":2}`)
	if byHand.Status != 201 {
		t.Fatalf("%d %s", byHand.Status, byHand.Body)
	}
	left, err := drill.Left(t.Context(), c, s)
	if err != nil || len(left) != 2 {
		t.Fatalf("left: %d, %v; want 2", len(left), err)
	}
	ended := 0
	if err := drill.End(t.Context(), c, s, func(e drill.Event) {
		if e.Hazard == "river" && e.Skipped == "" {
			ended++
		}
	}); err != nil || ended != 2 {
		t.Errorf("ended %d, %v", ended, err)
	}
	active, err := c.ActiveByCategory(t.Context(), "EXERCISE")
	if err != nil || len(active.Items) != 2 {
		t.Errorf("%d drills are active, %v; want the other one and the one by hand", len(active.Items), err)
	}
}

func TestAReaderCannotPlay(t *testing.T) {
	srv := server.Serve(t)
	c, err := client.New(srv.URL(), client.Options{Username: "reader", Password: server.Password})
	if err != nil {
		t.Fatal(err)
	}
	p := &drill.Player{Server: c.Editor(), Speed: 1, Run: drill.NewRun(), Told: func(e drill.Event) { t.Errorf("done: %+v", e) }}
	if err := p.Play(t.Context(), parsed(t, head+flood)); !errors.Is(err, client.ErrForbidden) || !strings.Contains(err.Error(), "line 4") {
		t.Errorf("%v", err)
	}
}

// desk is a server that keeps hazards in memory. It can be unavailable, and others can change its
// hazards.
type desk struct {
	hazards map[string]*wire.Hazard
	etag    int
	log     []string // actions, with the time since the start
	start   time.Time
	fail    func(what string) error
}

func newDesk() *desk {
	return &desk{hazards: map[string]*wire.Hazard{}, start: time.Now(), fail: func(string) error { return nil }}
}

func (d *desk) did(what string) error {
	if err := d.fail(what); err != nil {
		return err
	}
	d.log = append(d.log, fmt.Sprintf("%v %s", time.Since(d.start), what))
	return nil
}

func (d *desk) CreateHazard(_ context.Context, h client.NewHazard) (wire.Hazard, error) {
	if d.hazards[h.UUID] == nil {
		if err := d.did("create " + h.HazardName + " until " + time.Duration(h.End.Sub(d.start)).String()); err != nil {
			return wire.Hazard{}, err
		}
		d.hazards[h.UUID] = &wire.Hazard{UUID: h.UUID, HazardName: h.HazardName, CategoryID: h.CategoryID, Status: "A"}
	}
	return *d.hazards[h.UUID], nil
}

func (d *desk) Hazard(_ context.Context, id string, _ ...client.CallOption) (client.Record[wire.Hazard], error) {
	h := d.hazards[id]
	if h == nil {
		return client.Record[wire.Hazard]{}, client.ErrNotFound
	}
	return client.Record[wire.Hazard]{State: client.State{ETag: fmt.Sprint(d.etag)}, Item: *h}, nil
}

func (d *desk) PatchHazard(_ context.Context, id string, f client.Fields, opts ...client.CallOption) (wire.Hazard, error) {
	if len(opts) != 1 {
		return wire.Hazard{}, errors.New("altered without If-Match")
	}
	if err := d.did(fmt.Sprint("patch ", f)); err != nil {
		return wire.Hazard{}, err
	}
	d.etag++
	if s, ok := f["status"].(string); ok {
		d.hazards[id].Status = s
	}
	return *d.hazards[id], nil
}

func (d *desk) CreateProduct(_ context.Context, _ string, p client.NewProduct) (wire.Product, error) {
	return wire.Product{UUID: p.UUID, ProductID: 1}, d.did("product " + p.Title)
}

func (d *desk) CreateFile(_ context.Context, _ string, p client.NewProduct, name string, _ io.Reader) (wire.Product, error) {
	return wire.Product{UUID: p.UUID, ProductID: 1}, d.did("file " + name)
}

func (d *desk) PatchProduct(context.Context, string, client.Fields, ...client.CallOption) (wire.Product, error) {
	return wire.Product{}, d.did("patch product")
}

func (d *desk) ActiveByCategory(context.Context, string, ...client.CallOption) (client.List[wire.Hazard], error) {
	return client.List[wire.Hazard]{}, nil
}

const rising = head + flood + "  - {at: +00:10:00, update: river, severity: WARNING}\n  - {at: +01:00:00, end: river}\n"

func TestStepsAreDoneWhenTheyAreDue(t *testing.T) {
	for name, tt := range map[string]struct {
		speed float64
		want  []string
	}{
		"as in the file": {1, []string{"0s create EXERCISE - River until 2h0m0s", "10m0s patch map[severity_ID:WARNING]", "1h0m0s patch map[status:E]"}},
		"ten times":      {10, []string{"0s create EXERCISE - River until 1h6m0s", "1m0s patch map[severity_ID:WARNING]", "6m0s patch map[status:E]"}},
		"slower":         {0.5, []string{"0s create EXERCISE - River until 3h0m0s", "20m0s patch map[severity_ID:WARNING]", "2h0m0s patch map[status:E]"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk()
				var ticks int
				var last drill.Status
				p := &drill.Player{Server: d, Speed: tt.speed, Told: func(drill.Event) {}, Tick: func(s drill.Status) { ticks++; last = s }}
				if err := p.Play(t.Context(), parsed(t, rising)); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(d.log, tt.want) {
					t.Errorf("%q, want %q", d.log, tt.want)
				}
				if want := int(3600 / tt.speed); ticks < want || ticks > want+3 {
					t.Errorf("%d ticks, want one each of %d seconds", ticks, want)
				}
				if last.Elapsed != time.Hour || last.Length != time.Hour || last.Active != 1 || last.NextIn != 0 {
					t.Errorf("at last %+v", last)
				}
			})
		})
	}
}

func TestAnInterruptedDrillEndsItsHazardsUnlessTheyAreKept(t *testing.T) {
	for name, tt := range map[string]struct {
		keep bool
		want []string
	}{
		"ended": {false, []string{"0s create EXERCISE - River until 2h0m0s", "5m0s patch map[status:E]"}},
		"kept":  {true, []string{"0s create EXERCISE - River until 25h0m0s"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk()
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
				defer cancel()
				p := &drill.Player{Server: d, Speed: 1, Keep: tt.keep, Told: func(drill.Event) {}}
				if err := p.Play(ctx, parsed(t, rising)); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%v", err)
				}
				if !slices.Equal(d.log, tt.want) {
					t.Errorf("%q, want %q", d.log, tt.want)
				}
			})
		})
	}
}

func TestADrillOutlivesARestartOfTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		away := d.start.Add(10*time.Minute + 40*time.Second)
		d.fail = func(string) error {
			if now := time.Since(d.start); now >= 10*time.Minute && time.Now().Before(away) {
				return client.ErrUnavailable
			}
			return nil
		}
		p := &drill.Player{Server: d, Speed: 1, Told: func(drill.Event) {}}
		if err := p.Play(t.Context(), parsed(t, rising)); err != nil {
			t.Fatal(err)
		}
		if len(d.log) != 3 || !strings.HasSuffix(d.log[1], "patch map[severity_ID:WARNING]") || !strings.HasSuffix(d.log[2], "patch map[status:E]") {
			t.Errorf("%q", d.log)
		}
	})
}

func TestADrillWhoseServerIsGoneSaysWhatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		d.fail = func(what string) error {
			if strings.HasPrefix(what, "patch") {
				return client.ErrUnavailable
			}
			return nil
		}
		p := &drill.Player{Server: d, Speed: 1, Told: func(drill.Event) {}}
		err := p.Play(t.Context(), parsed(t, rising))
		if !errors.Is(err, drill.ErrLeft) || !strings.Contains(err.Error(), "line 5: update river") || !strings.Contains(err.Error(), "end river") {
			t.Errorf("%v", err)
		}
		if took := time.Since(d.start); took > 15*time.Minute {
			t.Errorf("given up after %v", took)
		}
	})
}

// A participant may end a hazard early: the drill continues.
func TestWhatTraineesHaveEndedIsSkipped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		s := parsed(t, head+flood+"  - {at: +00:05:00, add: river, product: p, title: Report, text: a}\n  - {at: +00:10:00, update: river, severity: WARNING}\n"+
			"  - {at: +00:11:00, revise: p, text: b}\n  - {at: +01:00:00, end: river}\n")
		var skipped []string
		p := &drill.Player{Server: d, Speed: 1, Told: func(e drill.Event) {
			if e.Do == drill.Add {
				for _, h := range d.hazards {
					h.Status = "E"
				}
			}
			if e.Skipped != "" {
				skipped = append(skipped, string(e.Do)+": "+e.Skipped)
			}
		}}
		if err := p.Play(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		want := []string{"update: it has been ended already", "revise: it has been ended already", "end: it has been ended already"}
		if !slices.Equal(skipped, want) {
			t.Errorf("skipped %q, want %q", skipped, want)
		}
	})
}

// If a uuid belongs to a real hazard on the server, that hazard is not changed.
func TestADrillStopsBeforeItTouchesWhatIsReal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		p := &drill.Player{Server: d, Speed: 1, Told: func(e drill.Event) {
			for _, h := range d.hazards {
				h.CategoryID = "EVENT"
			}
		}}
		err := p.Play(t.Context(), parsed(t, rising))
		if err == nil || !strings.Contains(err.Error(), "is not a hazard of this drill") {
			t.Errorf("%v", err)
		}
		if len(d.log) != 1 {
			t.Errorf("done: %q", d.log)
		}
	})
}

func newClient(t *testing.T, srv *server.Server) client.Editor {
	t.Helper()
	c, err := client.New(srv.URL(), client.Options{Username: "red", Password: server.Password})
	if err != nil {
		t.Fatal(err)
	}
	return c.Editor()
}

func parsed(t *testing.T, text string) *drill.Scenario {
	t.Helper()
	s, err := drill.Parse([]byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func builtIn(t *testing.T, name string) *drill.Scenario {
	t.Helper()
	text, err := fs.ReadFile(scenarios.Files, name+".yaml")
	if err != nil {
		t.Fatal(err)
	}
	s, err := drill.Parse(text, scenarios.Files)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
