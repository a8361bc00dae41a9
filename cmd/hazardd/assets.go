package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/atlas/asset"
	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
)

type assetsCmd struct {
	Load   assetsLoadCmd   `cmd:"" help:"Replace the assets of an organization with those in a file. A server may be running."`
	List   assetsListCmd   `cmd:"" help:"List which organizations have assets, and how many."`
	Remove assetsRemoveCmd `cmd:"" help:"Remove all assets of an organization."`
}

type assetsLoadCmd struct {
	File string `arg:"" help:"CSV with a header (name, lon, lat or wkt, kind, id) or a FeatureCollection of GeoJSON, in UTF-8; - is standard input."`
	Org  string `required:"" placeholder:"ORG" help:"Acronym or id of the organization."`
}

// Run loads the file.
func (l *assetsLoadCmd) Run(ctx context.Context, c *console, g *globals) error {
	in := c.in
	if l.File != "-" {
		file, err := os.Open(l.File)
		if err != nil {
			return err
		}
		defer file.Close()
		in = file
	}
	return g.withOldStore(ctx, func(s *store.Store) error {
		org, err := orgNamed(ctx, c, s, l.Org)
		if err != nil {
			return err
		}
		by := consoleActor()
		file, err := asset.Check(&capped{in, asset.MaxFile})
		if err != nil {
			return fmt.Errorf("%s: %w; nothing was loaded", oneLine(l.File), err)
		}
		defer file.Close()
		set, err := s.Assets.Load(ctx, org.ID, hazard.ClockFunc(c.instant), file.Read, &auth.Audit{At: c.instant(), Actor: by.Name, Client: by.Client, Action: auth.ActionAssets, Subject: org.Acronym, OK: true})
		if err != nil {
			return err
		}
		return c.print(assetsJSON(org, &set), func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "%s: %s\n", oneLine(org.Acronym), oneLine(set.Summary()))
			return err
		})
	})
}

// capped is a reader that fails after a number of bytes.
type capped struct {
	r    io.Reader
	left int64
}

func (c *capped) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if c.left -= int64(n); c.left < 0 {
		return 0, fmt.Errorf("the file is larger than the limit of %d bytes", asset.MaxFile)
	}
	return n, err
}

type assetsListCmd struct{}

// Run lists which organizations have assets.
func (*assetsListCmd) Run(ctx context.Context, c *console, g *globals) error {
	return g.withOldStore(ctx, func(s *store.Store) error {
		a, err := loadAuth(ctx, c, s, app.Config{})
		if err != nil {
			return err
		}
		sets, err := s.Assets.Sets(ctx)
		if err != nil {
			return err
		}
		list := []assetSetJSON{}
		t := newTable("ORGANIZATION", "ASSETS", "AREAS", "LOADED", "BY")
		for i := range sets {
			org := auth.Org{ID: sets[i].Org, Acronym: strconv.FormatInt(sets[i].Org, 10)}
			if j := slices.IndexFunc(a.Accounts().Orgs(), func(o auth.Org) bool { return o.ID == sets[i].Org }); j >= 0 {
				org = a.Accounts().Orgs()[j]
			}
			list = append(list, assetsJSON(org, &sets[i]))
			t.add(oneLine(org.Acronym), strconv.FormatInt(sets[i].Count, 10), strconv.FormatInt(sets[i].Areas, 10), sets[i].Loaded.String(), oneLine(sets[i].By))
		}
		return c.print(list, func(w io.Writer) error { return t.write(w, c.colour) })
	})
}

type assetsRemoveCmd struct {
	Org string `required:"" placeholder:"ORG" help:"Acronym or id of the organization."`
}

// Run removes the assets.
func (r *assetsRemoveCmd) Run(ctx context.Context, c *console, g *globals) error {
	return g.withOldStore(ctx, func(s *store.Store) error {
		org, err := orgNamed(ctx, c, s, r.Org)
		if err != nil {
			return err
		}
		by := consoleActor()
		return s.Assets.Remove(ctx, org.ID, &auth.Audit{At: c.instant(), Actor: by.Name, Client: by.Client, Action: auth.ActionNoAssets, Subject: org.Acronym, OK: true})
	})
}

// orgNamed returns the organization with that acronym or id.
func orgNamed(ctx context.Context, c *console, s *store.Store, name string) (auth.Org, error) {
	a, err := loadAuth(ctx, c, s, app.Config{})
	if err != nil {
		return auth.Org{}, err
	}
	var known []string
	for _, o := range a.Accounts().Orgs() {
		if o.Acronym == name || strconv.FormatInt(o.ID, 10) == name {
			return o, nil
		}
		known = append(known, oneLine(o.Acronym))
	}
	return auth.Org{}, fmt.Errorf("there is no organization %q; expected one of %s", name, strings.Join(known, ", "))
}

// assetSetJSON is the assets of one organization, as JSON.
type assetSetJSON struct {
	Organization string     `json:"organization"`
	Count        int64      `json:"count"`
	Areas        int64      `json:"areas"`
	BBox         [4]float64 `json:"bbox"`
	Loaded       string     `json:"loaded"`
	By           string     `json:"loaded_by"`
}

func assetsJSON(o auth.Org, s *asset.Set) assetSetJSON {
	return assetSetJSON{o.Acronym, s.Count, s.Areas, [4]float64{s.Box.West, s.Box.South, s.Box.East, s.Box.North}, s.Loaded.String(), s.By}
}
