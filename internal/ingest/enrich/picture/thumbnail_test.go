package picture

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"testing"
)

func TestThumbnails(t *testing.T) {
	var photo, wide bytes.Buffer
	img := image.NewNRGBA(image.Rect(0, 0, 1200, 300))
	for x := range 1200 {
		img.Set(x, 150, color.NRGBA{200, 0, 0, 255})
	}
	if err := errors.Join(jpeg.Encode(&photo, img, nil), png.Encode(&wide, img)); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"jpeg": photo.Bytes(), "png": wide.Bytes()} {
		small, err := Thumbnail(bytes.NewReader(content))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got, kind, err := image.DecodeConfig(bytes.NewReader(small)); err != nil || kind != "jpeg" || got.Width != thumbnailWidth || got.Height != 140 {
			t.Errorf("%s: %v %s %v", name, got, kind, err)
		}
	}
	huge := bytes.Clone(wide.Bytes())
	copy(huge[16:24], []byte{0, 1, 0, 0, 0, 1, 0, 0}) // 65,536 by 65,536 pixels
	for name, content := range map[string][]byte{"empty": nil, "text": []byte("a picture"), "cut off": photo.Bytes()[:200], "a bomb": huge} {
		if small, err := Thumbnail(bytes.NewReader(content)); !errors.Is(err, ErrNoPicture) {
			t.Errorf("%s: %d bytes, %v", name, len(small), err)
		}
	}
}

func FuzzThumbnail(f *testing.F) {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 3, 2))); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte("GIF89a"))
	f.Fuzz(func(t *testing.T, content []byte) {
		if small, err := Thumbnail(bytes.NewReader(content)); err == nil && len(small) == 0 || err != nil && !errors.Is(err, ErrNoPicture) {
			t.Errorf("%d bytes, %v", len(small), err)
		}
	})
}
