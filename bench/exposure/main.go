//go:build unix

// Exposure measures how long it takes to count the people of areas with a raster of the world in
// pixels of 1 km, and how much memory loading and counting need.
//
// The raster is --raster; otherwise GDAL makes it from the coarse one in $HAZARDD_SHARED, which
// takes minutes: 43,200 × 21,600 pixels, tiled and compressed. `hazardd population load` loads it
// in its own process. This process then counts, and reports its peak memory (VmHWM, on Linux). Four
// of five areas are stars of 3 to 32 corners and 5 to 400 km around towns. The fifth is a circle
// around a town, up to 1,000 km.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/hazardd/hazardd/bench/internal/measure"
	"github.com/hazardd/hazardd/internal/atlas/population"
	"github.com/hazardd/hazardd/internal/atlas/town"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/test/program"
)

func main() {
	raster := flag.String("raster", "", "GeoTIFF of people per square kilometer; without it one is made")
	areas := flag.Int("areas", 500, "areas to count")
	asJSON := flag.Bool("json", false, "print JSON")
	flag.Parse()
	measure.Main("bench/exposure", func(ctx context.Context) error { return run(ctx, *raster, *areas, *asJSON) })
}

func run(ctx context.Context, raster string, n int, asJSON bool) (err error) {
	dir, err := os.MkdirTemp("", "hazardd-bench-exposure-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if raster == "" {
		if raster, err = world(ctx, dir); err != nil {
			return err
		}
	}
	seconds, loading, err := load(ctx, dir, raster)
	if err != nil {
		return err
	}
	grid, err := population.NewFolder(dir).Grid()
	if err != nil {
		return err
	}
	var wall, processor []float64
	random, towns := rand.New(rand.NewPCG(1, 2)), slices.Collect(town.Between(-60, 75))
	own := 0
	for range n {
		t := towns[random.IntN(len(towns))]
		s, err := area(random, t.Lon, t.Lat)
		if err != nil {
			return err
		}
		before, err := measure.ProcessorTime(os.Getpid())
		if err != nil {
			return err
		}
		began := time.Now()
		e, err := population.Expose(grid, "k", []population.Area{{Role: hazard.AlertArea, Shape: s}}, nil, t.Lon, t.Lat)
		if err != nil {
			return err
		}
		wall = append(wall, time.Since(began).Seconds()*1000)
		after, err := measure.ProcessorTime(os.Getpid())
		if err != nil {
			return err
		}
		processor = append(processor, (after-before).Seconds()*1000)
		if e.Method == grid.Name {
			own++
		}
	}
	file, err := os.Stat(filepath.Join(dir, population.FileName))
	if err != nil {
		return err
	}
	table := measure.Table{Title: fmt.Sprintf("Milliseconds to count one of %d areas, %d of them by the raster", n, own), Heads: []string{"", "median", "p99", "longest"}}
	table.Add("wall-clock time", measure.Median(wall), measure.Quantile(wall, 0.99), slices.Max(wall))
	table.Add("processor time", measure.Median(processor), measure.Quantile(processor, 0.99), slices.Max(processor))
	costs := measure.Table{Title: "Loading and memory", Heads: []string{"", ""}}
	costs.Add("loading, s", seconds)
	costs.Add("its memory, MiB", loading)
	counting := measure.PeakMemory(os.Getpid())
	costs.Add("memory of counting, MiB", counting)
	costs.Add("the loaded grid, MB", float64(file.Size())/1e6)
	report := measure.Report{Program: "exposure", Machine: measure.Machine(), Tables: []measure.Table{table, costs}, Goals: []measure.Goal{
		measure.AtMost("p99 of an area, ms", measure.Quantile(wall, 0.99), 200),
		measure.AtMost("memory of loading, MiB", loading, 512),
		measure.AtMost("memory of counting, MiB", counting, 256),
	}}
	return report.Write(os.Stdout, asJSON)
}

// world creates a raster of the world.
func world(ctx context.Context, dir string) (string, error) {
	shared := os.Getenv("HAZARDD_SHARED")
	if shared == "" {
		return "", errors.New("set HAZARDD_SHARED, or name a raster with --raster")
	}
	file := filepath.Join(dir, "world.tif")
	text, err := exec.CommandContext(ctx, "gdalwarp", "-q", "-r", "bilinear", "-te", "-180", "-90", "180", "90", "-ts", "43200", "21600", "-co", "TILED=YES", "-co", "COMPRESS=DEFLATE",
		"-co", "ZLEVEL=1", filepath.Join(shared, "population", "gpw-v4.11-density-2020-15min.tif"), file).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("gdalwarp: %w: %s", err, text)
	}
	return file, nil
}

// load loads a raster as an operator does. It returns the duration in seconds and the peak memory
// in MiB.
func load(ctx context.Context, dir, raster string) (seconds, mib float64, err error) {
	path, err := program.Build(dir)
	if err != nil {
		return 0, 0, err
	}
	began := time.Now()
	cmd := exec.CommandContext(ctx, path, "population", "load", raster, "--data", dir, "--name", "world", "--year", "2020", "--unit", "density")
	if text, err := cmd.CombinedOutput(); err != nil {
		return 0, 0, fmt.Errorf("population load: %w: %s", err, text)
	}
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		mib = float64(usage.Maxrss) / 1024
	}
	return time.Since(began).Seconds(), mib, nil
}

// area returns an area around a place.
func area(random *rand.Rand, lon, lat float64) (geo.Shape, error) {
	if random.IntN(5) == 0 {
		return geo.Circle(lon, lat, 1000*math.Pow(1000, random.Float64())), nil
	}
	const kmOfDegree = 111.195
	size := 5 * math.Pow(80, random.Float64()) / kmOfDegree
	wide := math.Cos(lat * math.Pi / 180)
	corners := 3 + random.IntN(30)
	var ring []string
	for i := range corners {
		a, d := 2*math.Pi*float64(i)/float64(corners), size*(0.3+0.7*random.Float64())
		ring = append(ring, fmt.Sprintf("%.6f %.6f", lon+d*math.Cos(a)/wide, lat+d*math.Sin(a)))
	}
	return geo.ParseWKT("POLYGON ((" + strings.Join(append(ring, ring[0]), ", ") + "))")
}
