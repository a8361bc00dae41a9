package page

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	_ "image/gif" // formats of photographs
	"image/jpeg"
	_ "image/png"
	"io"

	"golang.org/x/image/draw"
	_ "golang.org/x/image/webp"
)

// The bounds of pictures that are made small.
const (
	// MaxOriginal is how large the file of a picture may be, in bytes.
	MaxOriginal = 16 << 20
	// maxPixels is how many pixels it may have: a photograph of a good phone. Read, it takes 4 bytes of each at most.
	maxPixels = 16_000_000
	// thumbnailWidth and thumbnailHeight are the most that a small picture has, in pixels: 150 to an inch in a brief.
	thumbnailWidth, thumbnailHeight = 560, 420
)

// ErrNoPicture is that a file is no picture that can be read, or one that is too large.
var ErrNoPicture = errors.New("not a picture")

// Thumbnail is the picture in a file (JPEG, PNG, GIF, WebP), small, as a JPEG on white. Errors are ErrNoPicture, and those of reading.
func Thumbnail(file io.ReadSeeker) ([]byte, error) {
	about, kind, err := image.DecodeConfig(io.LimitReader(file, MaxOriginal))
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrNoPicture, err)
	}
	most := maxPixels
	if m := about.ColorModel; m == color.RGBA64Model || m == color.NRGBA64Model { // twice the bytes
		most /= 2
	}
	if about.Width < 1 || about.Height < 1 || about.Width > most/about.Height {
		return nil, fmt.Errorf("%w: a %s of %d by %d pixels, expected at most %d in all", ErrNoPicture, kind, about.Width, about.Height, most)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	img, _, err := image.Decode(io.LimitReader(file, MaxOriginal))
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrNoPicture, err)
	}
	size := img.Bounds().Size()
	width, height := size.X, size.Y
	if width > thumbnailWidth {
		width, height = thumbnailWidth, max(1, height*thumbnailWidth/width)
	}
	if height > thumbnailHeight {
		width, height = max(1, width*thumbnailHeight/height), thumbnailHeight
	}
	small := image.NewRGBA(image.Rect(0, 0, width, height))
	draw.Draw(small, small.Rect, image.White, image.Point{}, draw.Src)
	draw.ApproxBiLinear.Scale(small, small.Rect, img, img.Bounds(), draw.Over, nil)
	var out bytes.Buffer
	if err := jpeg.Encode(&out, small, &jpeg.Options{Quality: 80}); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
