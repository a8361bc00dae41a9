package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hazardd/hazardd/internal/atlas/population"
	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/geo/raster"
	"github.com/hazardd/hazardd/internal/store"
)

type populationCmd struct {
	Load   populationLoadCmd   `cmd:"" help:"Count people with a raster from now on. It replaces an earlier one. A server may be running."`
	Show   populationShowCmd   `cmd:"" help:"Show which population data are in use."`
	Remove populationRemoveCmd `cmd:"" help:"Remove the raster and use the built-in population data again."`
}

type populationLoadCmd struct {
	File  string `arg:"" type:"existingfile" help:"GeoTIFF of one band on WGS 84 longitudes and latitudes, cloud-optimized or not."`
	Name  string `required:"" placeholder:"TEXT" help:"Name of the data for readers, such as WorldPop 2020, 1 km."`
	Year  int    `required:"" placeholder:"YEAR" help:"Year of the population figures."`
	Terms string `placeholder:"TEXT" help:"License and attribution, shown to readers."`
	Unit  string `enum:"counts,density" default:"counts" help:"Meaning of a value: counts, people in a pixel, or density, people per square kilometer."`
	Trust bool   `help:"Accept a raster whose total differs from the built-in data by a factor of three or more."`
}

// Validate checks the flags before the file is read.
func (l *populationLoadCmd) Validate() error {
	if l.Year < 1900 || l.Year > 2200 {
		return fmt.Errorf("--year: %d is not from 1900 to 2200", l.Year)
	}
	if n := len(l.Name); n == 0 || n > 200 {
		return fmt.Errorf("--name: has %d bytes; expected 1 to 200", n)
	}
	if n := len(l.Terms); n > 2000 {
		return fmt.Errorf("--terms: has %d bytes; expected at most 2000", n)
	}
	return nil
}

// Run loads the raster.
func (l *populationLoadCmd) Run(ctx context.Context, c *console, g *globals) error {
	if err := g.dataFolder(); err != nil {
		return err
	}
	file, err := os.Open(l.File)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	tiff, err := raster.OpenGeoTIFF(file, info.Size())
	if err != nil {
		return fmt.Errorf("%s: %w", oneLine(l.File), err)
	}
	about := population.About{Name: l.Name, Year: l.Year, Terms: l.Terms, Unit: population.Unit(l.Unit), Trust: l.Trust}
	return g.withOldStore(ctx, func(s *store.Store) error {
		got, err := population.Load(ctx, tiff, about, g.Data)
		if err != nil {
			return fmt.Errorf("%s: %w; nothing was loaded", oneLine(l.File), err)
		}
		if err := auditPeople(ctx, c, s, auth.ActionPeople, l.Name, fmt.Sprintf("%d, %.0f people, from %s", l.Year, got.People, l.File)); err != nil {
			return err
		}
		return c.print(loadedPeople{l.Name, l.Year, got.People, got.Builtin, got.Missing, got.Bytes}, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "%s, %d: %.0f people (the built-in data have %.0f there, and %.0f where the raster has no data); %d bytes in %s\n",
				oneLine(l.Name), l.Year, got.People, got.Builtin, got.Missing, got.Bytes, filepath.Join(g.Data, population.FileName))
			return err
		})
	})
}

// auditPeople records a change of the population raster in the audit trail.
func auditPeople(ctx context.Context, c *console, s *store.Store, action, subject, detail string) error {
	by := consoleActor()
	err := s.Accounts.AddAudit(ctx, auth.Audit{At: c.instant(), Actor: by.Name, Client: by.Client, Action: action, Subject: subject, Detail: detail, OK: true})
	if err != nil {
		return fmt.Errorf("%s, but the audit trail could not record it: %w", action, err)
	}
	return nil
}

// loadedPeople is the loaded data, as JSON.
type loadedPeople struct {
	Method  string  `json:"method"`
	Year    int     `json:"year"`
	People  float64 `json:"people"`
	Builtin float64 `json:"builtin"`
	Missing float64 `json:"missing"`
	Bytes   int64   `json:"bytes"`
}

// dataFolder returns an error if the data folder does not exist. It does not create one: that would
// hide a wrong name.
func (g *globals) dataFolder() error {
	if _, err := os.Stat(g.Data); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no data folder %s: name the server's with --data, or start hazardd serve first", g.Data)
	}
	return nil
}

type populationShowCmd struct{}

// Run shows the data.
func (*populationShowCmd) Run(c *console, g *globals) error {
	if err := g.dataFolder(); err != nil {
		return err
	}
	grid, err := population.NewFolder(g.Data).Grid()
	if err != nil {
		return err
	}
	shown := struct {
		Method string  `json:"method"`
		Year   int     `json:"year"`
		People float64 `json:"people"`
		Cell   float64 `json:"cell_degrees"`
		Terms  string  `json:"terms"`
	}{grid.Name, grid.Year, grid.Total(), grid.Cell, grid.Terms}
	return c.print(shown, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s, %d: %.0f people in cells of %.5g degrees\n%s\n", oneLine(grid.Name), grid.Year, grid.Total(), grid.Cell, oneLine(grid.Terms))
		return err
	})
}

type populationRemoveCmd struct{}

// Run removes the raster.
func (*populationRemoveCmd) Run(ctx context.Context, c *console, g *globals) error {
	if err := g.dataFolder(); err != nil {
		return err
	}
	return g.withOldStore(ctx, func(s *store.Store) error {
		err := os.Remove(filepath.Join(g.Data, population.FileName))
		if errors.Is(err, fs.ErrNotExist) {
			return errors.New("no raster is loaded: the built-in population data are in use")
		}
		if err != nil {
			return err
		}
		return auditPeople(ctx, c, s, auth.ActionNoPeople, "", "")
	})
}
