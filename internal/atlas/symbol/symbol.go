// Package symbol holds the pictograms of the hazard types, as SVG and PNG, and composes the symbols
// of hazards from them. There is one pictogram for each type_icon of the base interface, drawn for
// this project.
//
// All have the same style: bold shapes of one dark color on a transparent square of 64 by 64 units,
// with a margin of 4 units, and with strokes and gaps that are clear at 24 pixels. An SVG has a
// single g element without IDs, scripts, text and references, so it can be put into another SVG.
// All functions are pure and safe for concurrent use.
package symbol

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"image"
	"image/png"
	"strings"

	"github.com/srwiley/oksvg"
	"github.com/srwiley/rasterx"
)

// MinSize and MaxSize are the least and the greatest edge of a rendering in pixels. Below the first nothing can be told
// apart; the second bounds what one call costs (a megabyte of memory).
const (
	MinSize = 16
	MaxSize = 512
)

var (
	// ErrUnknown means that there is no such icon, or that a symbol is of no known type, category or severity.
	ErrUnknown = errors.New("unknown")
	// ErrSize means that the size asked for is not between MinSize and MaxSize.
	ErrSize = errors.New("size out of range")
)

// unitsPerEdge is the edge of the view box of each icon.
const unitsPerEdge = 64

//go:embed icons/*.svg
var files embed.FS

// Icon returns the SVG of the pictogram named by name (a type_icon of the base interface without its extension), and
// whether there is one. The caller may keep and change the bytes.
func Icon(name string) ([]byte, bool) {
	svg, err := files.ReadFile("icons/" + name + ".svg")
	return svg, err == nil
}

// Names lists the icons in alphabetical order.
func Names() []string {
	entries, err := files.ReadDir("icons")
	if err != nil {
		panic(err) // the folder is part of the program
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = strings.TrimSuffix(e.Name(), ".svg")
	}
	return names
}

// PNG renders the named icon as a square PNG of size pixels (MinSize to MaxSize) with transparent background. Output is
// deterministic. Errors are ErrUnknown and ErrSize.
func PNG(name string, size int) ([]byte, error) {
	if err := checkSize(size); err != nil {
		return nil, err
	}
	svg, ok := Icon(name)
	if !ok {
		return nil, fmt.Errorf("%w: %q is not one of %s", ErrUnknown, name, strings.Join(Names(), ", "))
	}
	img := image.NewRGBA(image.Rect(0, 0, size, size))
	if err := draw(img, svg, 0, 0, float64(size)); err != nil {
		return nil, fmt.Errorf("render icon %s: %w", name, err)
	}
	var out bytes.Buffer
	if err := png.Encode(&out, img); err != nil {
		return nil, fmt.Errorf("encode icon %s: %w", name, err)
	}
	return out.Bytes(), nil
}

func checkSize(size int) error {
	if size < MinSize || size > MaxSize {
		return fmt.Errorf("%w: %d is not between %d and %d pixels", ErrSize, size, MinSize, MaxSize)
	}
	return nil
}

// draw puts an SVG of the style of this package on img: in a square of edge pixels, whose upper left corner is x, y.
func draw(img *image.RGBA, svg []byte, x, y, edge float64) error {
	icon, err := oksvg.ReadIconStream(bytes.NewReader(svg), oksvg.StrictErrorMode)
	if err != nil {
		return err
	}
	scale := edge / icon.ViewBox.W
	icon.Transform = rasterx.Identity.Translate(x, y).Scale(scale, scale)
	for i := range icon.SVGPaths {
		icon.SVGPaths[i].LineWidth *= scale // oksvg scales paths, but not the width of their strokes
	}
	size := img.Bounds().Size()
	icon.Draw(rasterx.NewDasher(size.X, size.Y, rasterx.NewScannerGV(size.X, size.Y, img, img.Bounds())), 1)
	return nil
}
