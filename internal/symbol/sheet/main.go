// Command sheet writes a contact sheet of all hazard icons, to look at them: each at 64 and at 24 pixels, on a light
// background and, on a white disc as in a symbol, on a dark one.
//
//	go run ./internal/symbol/sheet sheet.png
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

	"hazardd/internal/symbol"
)

// The layout in pixels: each cell has its light half on the left, its dark half on the right and its name below.
const (
	columns    = 4
	halfWidth  = 150
	rowHeight  = 124
	nameHeight = 20
)

var dark = color.Gray{Y: 0x30}

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
	names := symbol.Names()
	rows := (len(names) + columns - 1) / columns
	sheet := image.NewRGBA(image.Rect(0, 0, columns*2*halfWidth, rows*rowHeight))
	draw.Draw(sheet, sheet.Bounds(), image.White, image.Point{}, draw.Src)
	for i, name := range names {
		at := image.Pt(i%columns*2*halfWidth, i/columns*rowHeight)
		if err := drawCell(sheet, at, name); err != nil {
			return err
		}
	}
	var out bytes.Buffer
	if err := png.Encode(&out, sheet); err != nil {
		return err
	}
	return os.WriteFile(file, out.Bytes(), 0o644)
}

func drawCell(sheet draw.Image, at image.Point, name string) error {
	middle := at.Y + (rowHeight-nameHeight)/2
	night := image.Rect(at.X+halfWidth, at.Y, at.X+2*halfWidth, at.Y+rowHeight-nameHeight)
	draw.Draw(sheet, night, image.NewUniform(dark), image.Point{}, draw.Src)
	for _, tt := range []struct{ size, x int }{{64, 52}, {24, 124}} {
		data, err := symbol.PNG(name, tt.size)
		if err != nil {
			return err
		}
		icon, err := png.Decode(bytes.NewReader(data))
		if err != nil {
			return err
		}
		day, night := image.Pt(at.X+tt.x, middle), image.Pt(at.X+halfWidth+tt.x, middle)
		drawCentred(sheet, day, icon)
		drawCentred(sheet, night, disc(tt.size*3/4)) // its edge passes beyond the corners of the icon
		drawCentred(sheet, night, icon)
	}
	text := font.Drawer{Dst: sheet, Src: image.Black, Face: basicfont.Face7x13, Dot: fixed.P(at.X+20, at.Y+rowHeight-6)}
	text.DrawString(name)
	return nil
}

func drawCentred(dst draw.Image, centre image.Point, src image.Image) {
	half := src.Bounds().Size().Div(2)
	at := image.Rectangle{Max: src.Bounds().Size()}.Add(centre.Sub(half))
	draw.Draw(dst, at, src, src.Bounds().Min, draw.Over)
}

// disc returns a white disc on a transparent ground.
func disc(radius int) image.Image {
	img := image.NewRGBA(image.Rect(0, 0, 2*radius, 2*radius))
	for y := range 2 * radius {
		for x := range 2 * radius {
			if dx, dy := 2*x+1-2*radius, 2*y+1-2*radius; dx*dx+dy*dy <= 4*radius*radius {
				img.Set(x, y, color.White)
			}
		}
	}
	return img
}
