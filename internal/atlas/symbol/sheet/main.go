// Command sheet writes a picture of all symbols: a row for each type, with its symbols at 32 pixels
// on a light map and at 24 on a dark one, by category and severity.
//
//	go run ./internal/atlas/symbol/sheet docs/symbols.png
package main

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"

	"golang.org/x/image/font"
	"golang.org/x/image/font/basicfont"
	"golang.org/x/image/math/fixed"

	"github.com/hazardd/hazardd/internal/atlas/symbol"
	"github.com/hazardd/hazardd/internal/hazard"
)

// The layout in pixels.
const (
	nameWidth  = 140
	headHeight = 20
	rowHeight  = 36
)

// halves are the two maps, left to right.
var halves = []struct {
	size, cell int
	ground     color.Color
}{
	{32, 36, color.RGBA{0xee, 0xf0, 0xe8, 0xff}},
	{24, 29, color.RGBA{0x22, 0x28, 0x30, 0xff}},
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: sheet file.png")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "sheet:", err)
		os.Exit(1)
	}
}

func write(file string) error {
	types, categories, severities := hazard.Types(), hazard.Categories(), hazard.Severities()
	columns := len(categories) * len(severities)
	width := nameWidth
	for _, h := range halves {
		width += columns * h.cell
	}
	sheet := image.NewRGBA(image.Rect(0, 0, width, headHeight+len(types)*rowHeight))
	draw.Draw(sheet, sheet.Bounds(), image.White, image.Point{}, draw.Src)
	left := nameWidth
	for _, h := range halves {
		ground := image.Rect(left, headHeight, left+columns*h.cell, sheet.Bounds().Max.Y)
		draw.Draw(sheet, ground, image.NewUniform(h.ground), image.Point{}, draw.Src)
		for i, c := range categories {
			label(sheet, left+i*len(severities)*h.cell+4, 14, string(c.ID))
		}
		left += columns * h.cell
	}
	for i, s := range symbol.All() {
		row, column := i/columns, i%columns
		top := headHeight + row*rowHeight
		if column == 0 {
			label(sheet, 4, top+rowHeight/2+4, string(s.Type))
		}
		left := nameWidth
		for _, h := range halves {
			data, err := s.PNG(h.size)
			if err != nil {
				return err
			}
			img, err := png.Decode(bytes.NewReader(data))
			if err != nil {
				return err
			}
			at := image.Pt(left+column*h.cell+(h.cell-h.size)/2, top+(rowHeight-h.size)/2)
			draw.Draw(sheet, img.Bounds().Add(at), img, image.Point{}, draw.Over)
			left += columns * h.cell
		}
	}
	for i, v := range sheet.Pix { // sixteen levels of each colour: nobody sees the difference, and the file is half as large
		sheet.Pix[i] = uint8((int(v) + 8) / 17 * 17)
	}
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, sheet); err != nil {
		return err
	}
	return os.WriteFile(file, out.Bytes(), 0o644)
}

func label(dst draw.Image, x, y int, text string) {
	d := font.Drawer{Dst: dst, Src: image.Black, Face: basicfont.Face7x13, Dot: fixed.P(x, y)}
	d.DrawString(text)
}
