package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/hazardd/hazardd/client"
)

// example returns a server with one flood.
func example() (address string, stop func()) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Hazardd-Sources", `ok=1; stale=1; names="gdacs"`)
		switch r.Method + " " + r.URL.Path {
		case "POST /authorize":
			_, _ = io.WriteString(w, `{"accessToken":"a","refreshToken":"r"}`)
		case "GET /hazards/active":
			if w.Header().Set("ETag", `"1"`); r.Header.Get("If-None-Match") == `"1"` {
				w.WriteHeader(http.StatusNotModified)
				return
			}
			_, _ = io.WriteString(w, `[{"hazard_ID":7,"hazard_Name":"Flood - Boston","severity_ID":"WARNING","start_Date":"1594760160000","latitude":42.36,"longitude":-71.06}]`)
		case "GET /hazards":
			if r.URL.Query().Get("cursor") == "" {
				w.Header().Set("Link", `</hazards?cursor=2>; rel="next"`)
				_, _ = io.WriteString(w, `[{"hazard_Name":"Flood - Boston"}]`)
				return
			}
			_, _ = io.WriteString(w, `[{"hazard_Name":"Flood - Cambridge"}]`)
		case "GET /changes":
			_, _ = io.WriteString(w, `[{"change":41,"type":"hazard.created","hazard":{"hazard_Name":"Flood - Boston"}},{"change":42,"type":"hazard.updated","hazard":{"hazard_Name":"Flood - Boston"}}]`)
		case "GET /hazards/7":
			w.Header().Set("ETag", `"1"`)
			_, _ = io.WriteString(w, `{"hazard_ID":7,"severity_ID":"WARNING"}`)
		case "PATCH /hazards/7":
			w.WriteHeader(http.StatusPreconditionFailed)
		case "POST /hazards/7/products":
			_, _ = io.WriteString(w, `{"product_ID":9,"title":"Map","filename":"map.pdf"}`)
		}
	}))
	return srv.URL, srv.Close
}

func Example() {
	address, stop := example()
	defer stop()

	c, err := client.New(address, client.Options{Username: "ann", Password: os.Getenv("HAZARD_PASSWORD") + "x"})
	if err != nil {
		log.Fatal(err)
	}
	hazards, err := c.Active(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("sources:", hazards.Sources)
	for _, h := range hazards.Items {
		start, err := client.Time(h.StartDate)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(h.SeverityID, h.HazardName, "since", start)
	}
	// Output:
	// sources: ok=1; stale=1; names="gdacs"
	// WARNING Flood - Boston since 2020-07-14 20:56:00 +0000 UTC
}

// A client that reads repeatedly can ask only for new data.
func ExampleIfNoneMatch() {
	address, stop := example()
	defer stop()
	c, _ := client.New(address, client.Options{Token: "a"})

	var known string // the etag of the last answer
	for range 2 {
		hazards, err := c.Active(context.Background(), client.IfNoneMatch(known))
		switch {
		case errors.Is(err, client.ErrNotModified):
			fmt.Println("nothing new")
		case err != nil:
			log.Fatal(err)
		default:
			fmt.Println("hazards:", len(hazards.Items))
			known = hazards.ETag
		}
	}
	// Output:
	// hazards: 1
	// nothing new
}

// A follower of the log stores the number of the last change that it has seen, and continues from
// there.
func ExampleClient_Changes() {
	address, stop := example()
	defer stop()
	c, _ := client.New(address, client.Options{Token: "a"})

	last := int64(40)
	for change, err := range c.Changes(context.Background(), last) {
		if err != nil {
			log.Fatal(err) // everything up to last was received
		}
		if change.Hazard != nil {
			fmt.Println(change.Number, change.Type, change.Hazard.HazardName)
		}
		last = change.Number
	}
	fmt.Println("next time after", last)
	// Output:
	// 41 hazard.created Flood - Boston
	// 42 hazard.updated Flood - Boston
	// next time after 42
}

// A write can depend on the state that was read: if somebody else has changed it, nothing is
// written.
func ExampleIfMatch() {
	address, stop := example()
	defer stop()
	c, _ := client.New(address, client.Options{Token: "a"})
	ctx := context.Background()

	h, err := c.Hazard(ctx, "7")
	if err != nil {
		log.Fatal(err)
	}
	if h.Item.SeverityID == "WARNING" {
		_, err = c.Editor().PatchHazard(ctx, "7", client.Fields{"severity_ID": "WATCH"}, client.IfMatch(h.ETag))
	}
	if errors.Is(err, client.ErrStale) {
		fmt.Println("somebody else has altered it: read it again")
	}
	// Output:
	// somebody else has altered it: read it again
}

func ExampleEditor_CreateFile() {
	address, stop := example()
	defer stop()
	c, _ := client.New(address, client.Options{Token: "a"})

	file := strings.NewReader("%PDF-1.7 …") // os.Open returns such a reader too
	p, err := c.Editor().CreateFile(context.Background(), "7", client.NewProduct{Title: "Map"}, "map.pdf", file)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(p.ProductID, *p.Filename)
	// Output:
	// 9 map.pdf
}
