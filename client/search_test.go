package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/client"
	"github.com/hazardd/hazardd/internal/test/server"
)

// found returns the names of the hazards that a search finds.
func found(t testing.TB, c *client.Client, s client.Search) []string {
	t.Helper()
	names := []string{}
	for h, err := range c.Search(t.Context(), s) {
		if err != nil {
			t.Fatalf("%+v: %v", s, err)
		}
		names = append(names, h.HazardName)
	}
	return names
}

func TestSearchOfARealServer(t *testing.T) {
	srv := server.Serve(t)
	c, _ := as(t, srv, "red")
	client.PageSize(c, 2)
	before := time.Now()
	var last string
	for i := range 5 {
		h := flood()
		h.HazardName, h.SeverityID = fmt.Sprint("Flood ", i), []string{"WATCH", "WARNING"}[i%2]
		last = must(c.Editor().CreateHazard(t.Context(), h))(t).UUID
	}
	must(c.Editor().PatchHazard(t.Context(), last, client.Fields{"status": "E"}))(t)
	all := []string{"Flood 0", "Flood 1", "Flood 2", "Flood 3", "Flood 4"}
	for name, tt := range map[string]struct {
		search client.Search
		want   []string
	}{
		"all, in pages":      {client.Search{Sort: "hazard_ID"}, all},
		"backwards":          {client.Search{Sort: "-hazard_ID", Statuses: []string{"A"}}, []string{"Flood 3", "Flood 2", "Flood 1", "Flood 0"}},
		"of a severity":      {client.Search{Severities: []string{"WARNING", "ADVISORY"}, Sort: "hazard_ID"}, []string{"Flood 1", "Flood 3"}},
		"by everything else": {client.Search{Types: []string{"FLOOD", "STORM"}, Categories: []string{"EVENT"}, Sources: []string{"editors"}, BBox: &client.BBox{West: -72, South: 42, East: -71, North: 43}, Near: &client.Near{Lon: -71, Lat: 42.4, Radius: 10_000}, Intersects: "POLYGON((-72 42,-71 42,-71 43,-72 43,-72 42))", From: before, To: before.Add(time.Hour), UpdatedSince: before.Add(-time.Second), Text: `"flood 2"`}, []string{"Flood 2"}},
		"elsewhere":          {client.Search{Near: &client.Near{Lon: 0, Lat: 0, Radius: 1}}, []string{}},
		"before it all":      {client.Search{At: before.Add(-time.Minute)}, []string{}},
		"of an unknown name": {client.Search{Ref: "usgs:none"}, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := found(t, c, tt.search); !slices.Equal(got, tt.want) {
				t.Errorf("found %v, want %v", got, tt.want)
			}
			if n := must(c.Count(t.Context(), tt.search))(t); n != int64(len(tt.want)) {
				t.Errorf("counted %d, want %d", n, len(tt.want))
			}
		})
	}
	active := must(c.SearchActive(t.Context(), client.Search{Sort: "hazard_ID"}))(t)
	if len(active.Items) != 4 || active.Sources == "" {
		t.Errorf("active: %+v", active)
	}
	if h := must(c.Hazard(t.Context(), last, client.At(time.Now())))(t); h.Item.Status != "E" {
		t.Errorf("now it is %s", h.Item.Status)
	}
	if _, err := c.Hazard(t.Context(), last, client.At(before.Add(-time.Minute))); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("before it was made: %v", err)
	}
	for _, err := range c.Search(t.Context(), client.Search{Types: []string{"flood"}, Sort: "name"}) {
		if p, ok := errors.AsType[*client.Problem](err); !ok || p.Status != http.StatusBadRequest || !strings.Contains(err.Error(), "sort") {
			t.Errorf("wrong parameters: %v", err)
		}
	}
	// A loop may stop early.
	for range c.Search(t.Context(), client.Search{}) {
		break
	}
}

func TestLinkThatDoesNotLeadOnEndsASearch(t *testing.T) {
	for name, link := range map[string]string{"without a cursor": "/hazards?limit=2", "to the same page": "/hazards?cursor=a", "no address": "%zz"} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			c, _ := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if asked++; asked > 5 || r.URL.Path != "/hazards" {
					t.Errorf("asked for %s", r.URL)
				}
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("Link", "<"+link+`>; rel="next"`)
				_, _ = io.WriteString(w, `[{"hazard_ID":1}]`)
			}))
			var last error
			for _, err := range c.Search(t.Context(), client.Search{}) {
				last = err
			}
			if _, ok := errors.AsType[*client.AnswerError](last); !ok {
				t.Errorf("ended with %v", last)
			}
		})
	}
}

func ExampleClient_Search() {
	address, stop := example()
	defer stop()
	c, _ := client.New(address, client.Options{Token: "a"})

	floods := client.Search{Types: []string{"FLOOD"}, BBox: &client.BBox{West: -72, South: 42, East: -70, North: 43}, Text: "bost*"}
	for h, err := range c.Search(context.Background(), floods) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(h.HazardName)
	}
	// Output:
	// Flood - Boston
	// Flood - Cambridge
}
