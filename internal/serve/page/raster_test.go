package page

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"os"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/atlas/basemap"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/web"
)

func picturedMap(t testing.TB) *Map {
	m := &Map{Hazard: &hazard.Hazard{Name: "Flood", Type: hazard.Flood, Severity: hazard.Warning, Category: hazard.Event, Longitude: 10, Latitude: 53.55},
		Areas: []hazard.Area{{Role: hazard.AlertArea, Geometry: `{"type":"Polygon","coordinates":[[[9.5,53.3],[10.3,53.3],[10.3,53.8],[9.5,53.8],[9.5,53.3]]]}`},
			{Role: hazard.ImpactArea, Geometry: `{"type":"Polygon","coordinates":[[[9.7,53.4],[10.1,53.4],[10.1,53.6],[9.7,53.6],[9.7,53.4]]]}`}}}
	if archive := web.NewHandler().Basemap(); archive != nil {
		ground, err := basemap.Open(archive)
		if err != nil {
			t.Fatal(err)
		}
		m.Ground = ground
	}
	return m
}

func pictureOf(t testing.TB, m *Map, width int) image.Image {
	text, err := m.PNG(width)
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if path := os.Getenv("PICTURE"); path != "" {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return img
}

// differ counts the pixels in which two pictures of one size differ.
func differ(a, b image.Image) (n int) {
	for y := range a.Bounds().Dy() {
		for x := range a.Bounds().Dx() {
			if color.NRGBAModel.Convert(a.At(x, y)) != color.NRGBAModel.Convert(b.At(x, y)) {
				n++
			}
		}
	}
	return n
}

func TestAPictureShowsAreasWordsAndTheEnd(t *testing.T) {
	m := picturedMap(t)
	whole := pictureOf(t, m, 480)
	if got := whole.Bounds().Size(); got != image.Pt(480, 300) {
		t.Fatalf("%v pixels, want 480 by 300", got)
	}
	if again := pictureOf(t, m, 480); differ(whole, again) != 0 {
		t.Error("two pictures of the same map differ")
	}
	bare := *m
	bare.Areas = m.Areas[:1]
	if n := differ(whole, pictureOf(t, &bare, 480)); n < 200 {
		t.Errorf("the impact area changes %d pixels", n)
	}
	over := *m
	over.Over = true
	if n := differ(whole, pictureOf(t, &over, 480)); n < 2000 {
		t.Errorf("ENDED changes %d pixels", n)
	}
	// The symbol is at the position. The area around it has the color of the severity over the
	// ground. Outside there is none of that color.
	d := m.draw()
	x, y := d.xy(10.25, 53.75) // in the alert area only
	r, g, b, _ := whole.At(int(x), int(y)).RGBA()
	ox, oy := d.xy(10.4, 53.75)
	or, og, ob, _ := whole.At(int(ox), int(oy)).RGBA()
	if r == or && g == og && b == ob {
		t.Error("the area is not filled")
	}
	for _, width := range []int{MinPicture, MaxPicture} {
		if got := pictureOf(t, m, width).Bounds().Dx(); got != width {
			t.Errorf("the picture is %d pixels wide, want %d", got, width)
		}
	}
	for _, width := range []int{0, MinPicture - 1, MaxPicture + 1} {
		if _, err := m.PNG(width); err == nil {
			t.Errorf("a picture of %d pixels", width)
		}
	}
}

func TestDashesCoverTheirShareOfALine(t *testing.T) {
	length := 0.0
	for _, part := range dashes([][2]float64{{0, 0}, {70, 0}, {70, 70}}, []float64{9, 5}) {
		for i := 1; i < len(part); i++ {
			length += max(part[i][0]-part[i-1][0], part[i][1]-part[i-1][1])
		}
	}
	if length != 90 {
		t.Errorf("dashes of 9 and gaps of 5 cover %v of 140, want 90", length)
	}
}

// A picture of the whole planet, or of an area with very many corners, is drawn in limited time.
func TestAPictureOfManyCornersIsDrawnSoon(t *testing.T) {
	var ring bytes.Buffer
	for i := range 100_000 {
		if i > 0 {
			ring.WriteByte(',')
		}
		ring.WriteString([]string{"[-170,-60]", "[170,-60]", "[170,70]", "[-170,70]"}[i%4])
	}
	m := picturedMap(t)
	m.Areas = []hazard.Area{{Role: hazard.ImpactArea, Geometry: `{"type":"Polygon","coordinates":[[` + ring.String() + `]]}`}}
	began := time.Now()
	pictureOf(t, m, MaxPicture)
	if d := time.Since(began); d > 30*time.Second {
		t.Errorf("drawn in %v", d)
	}
}

func BenchmarkPicture(b *testing.B) {
	m := picturedMap(b)
	for b.Loop() {
		if _, err := m.PNG(1200); err != nil {
			b.Fatal(err)
		}
	}
}
