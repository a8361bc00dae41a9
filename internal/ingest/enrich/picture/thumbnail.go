package picture

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

// These are the limits of pictures for thumbnails.
const (
	// MaxOriginal is the maximum size of the picture's file, in bytes.
	MaxOriginal = 16 << 20
	// maxPixels is the maximum number of pixels: that of a photograph from a good phone. A decoded
	// pixel takes at most 4 bytes.
	maxPixels = 16_000_000
	// thumbnailWidth and thumbnailHeight are the maximum size of a thumbnail in pixels: 150 per
	// inch in a brief.
	thumbnailWidth, thumbnailHeight = 560, 420
)

// ErrNoPicture means that a file is not a readable picture, or that it is too large.
var ErrNoPicture = errors.New("not a picture")

// Thumbnail reads a picture (JPEG, PNG, GIF, WebP) and returns it smaller, as a JPEG on white. Its
// errors are ErrNoPicture and read errors.
func Thumbnail(file io.ReadSeeker) ([]byte, error) {
	about, kind, err := image.DecodeConfig(io.LimitReader(file, MaxOriginal))
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrNoPicture, err)
	}
	limit := maxPixels
	if m := about.ColorModel; m == color.RGBA64Model || m == color.NRGBA64Model { // these take twice the bytes
		limit /= 2
	}
	if about.Width < 1 || about.Height < 1 || about.Width > limit/about.Height {
		return nil, fmt.Errorf("%w: a %s of %d by %d pixels, expected at most %d in all", ErrNoPicture, kind, about.Width, about.Height, limit)
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
