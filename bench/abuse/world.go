package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os/exec"
	"strings"
	"time"
)

// The users: the measured ones and the abusers.
var users = []struct{ name, role, org string }{
	{"reader", "reader", ""}, {"writer", "editor", "1"}, {"bad-reader", "reader", ""}, {"bad-editor", "editor", "2"}, {"bad-editor-2", "editor", "2"},
}

const (
	points  = 400       // in an ordinary area
	texts   = 30        // products, of one hazard
	texting = 1_000_000 // maximum size of a product in bytes
	teeth   = 98        // in each of the two combs of the most expensive area: 19,600 points where they cross
)

// prepare fills a store with the program's own commands and requests.
func prepare(ctx context.Context, o options, data string) (_ *world, err error) {
	command := func(into any, args ...string) error {
		out, err := exec.CommandContext(ctx, o.server, append(args, "--data", data, "--json")...).Output()
		if failed, ok := errors.AsType[*exec.ExitError](err); ok {
			return fmt.Errorf("hazardd %s: %w: %s", strings.Join(args, " "), err, failed.Stderr)
		} else if err != nil || into == nil {
			return err
		}
		return json.Unmarshal(out, into)
	}
	w := &world{Tokens: map[string]string{}}
	for _, org := range []string{"GOOD", "BAD"} {
		if err := command(nil, "org", "add", org, "--name", org); err != nil {
			return nil, err
		}
	}
	for _, u := range users {
		args := []string{"user", "add", u.name, "--role", u.role, "--random"}
		if u.org != "" {
			args = append(args, "--org", u.org)
		}
		if err := command(nil, args...); err != nil {
			return nil, err
		}
		var pair struct{ AccessToken string }
		if err := command(&pair, "token", u.name); err != nil {
			return nil, err
		}
		w.Tokens[u.name] = pair.AccessToken
	}
	p, err := serve(ctx, o, data)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	client := &http.Client{Timeout: time.Minute}
	create := func(user, name string, area any) (uuid string, err error) {
		var made struct{ UUID string }
		body := map[string]any{"hazard_Name": name, "type_ID": "FLOOD", "severity_ID": "WARNING", "latitude": 10, "longitude": 20,
			"end_Date": fmt.Sprint(time.Now().Add(24 * time.Hour).UnixMilli())}
		if area != nil {
			body["area"] = area
		}
		err = call(ctx, client, p.addr, w.Tokens[user], "POST", "/hazards", body, &made)
		return made.UUID, err
	}
	for i := range o.hazards {
		if _, err := create("writer", fmt.Sprintf("Flood %d", i), round(points, 15+float64(i%40)/4)); err != nil {
			return nil, err
		}
	}
	if w.Mine, err = create("writer", "The flood that is measured", nil); err != nil {
		return nil, err
	}
	if w.Abuser, err = create("bad-editor", "A flood", nil); err != nil {
		return nil, err
	}
	for i := range texts {
		body := map[string]any{"title": fmt.Sprintf("Text %d", i), "product_Type": "TEXT_PRODUCT", "data": strings.Repeat("All is under water. ", texting/20)}
		if err := call(ctx, client, p.addr, w.Tokens["bad-editor"], "POST", "/hazards/"+w.Abuser+"/products", body, nil); err != nil {
			return nil, err
		}
	}
	// Find the most expensive area that the server accepts.
	for n := teeth; n > 1; n /= 2 {
		uuid, err := create("bad-editor", "A flood of combs", combs(n))
		if err == nil {
			w.Costly = uuid
			w.notes = append(w.notes, fmt.Sprintf("the most costly area that was accepted is two combs of %d teeth each", n))
			break
		}
	}
	if w.Costly == "" {
		return nil, errors.New("the server accepts no area of two combs")
	}
	var hook struct{ ID string }
	err = call(ctx, client, p.addr, w.Tokens["bad-editor"], "POST", "/webhooks", map[string]any{"url": "http://127.0.0.1:9/", "name": "bad"}, &hook)
	w.Webhook = hook.ID
	return w, err
}

// round returns a polygon with n corners around a point on the given longitude.
func round(n int, lon float64) any {
	ring := make([][2]float64, 0, n+1)
	for i := range n {
		a := 2 * math.Pi * float64(i) / float64(n)
		r := 1 + 0.01*math.Sin(17*a)
		ring = append(ring, [2]float64{lon + r*math.Cos(a), 10 + r*math.Sin(a)})
	}
	return map[string]any{"type": "Polygon", "coordinates": [][][2]float64{append(ring, ring[0])}}
}

// combs returns two crossing combs of n teeth each: every tooth of one crosses every tooth of the
// other.
func combs(n int) any {
	comb := func(turned bool) [][][2]float64 {
		var ring [][2]float64
		at := func(along, across float64) {
			if turned {
				along, across = across, along
			}
			ring = append(ring, [2]float64{20 + along, 10 + across})
		}
		at(0, -0.1)
		for i := range n {
			x := (float64(i) + 0.25) / float64(n)
			step := 0.5 / float64(n)
			const up = 50 // points on each side of a tooth
			at(x, 0)
			for k := 1; k < up; k++ {
				at(x, float64(k)/up)
			}
			at(x, 1.1)
			at(x+step, 1.1)
			for k := up - 1; k > 0; k-- {
				at(x+step, float64(k)/up)
			}
			at(x+step, 0)
		}
		at(1, -0.1)
		return [][][2]float64{append(ring, ring[0])}
	}
	return map[string]any{"type": "MultiPolygon", "coordinates": [][][][2]float64{comb(false), comb(true)}}
}
