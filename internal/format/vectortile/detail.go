package vectortile

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Detail is what a tile is to hold. The zero value is everything.
type Detail struct{ layers, properties uint32 } // a bit for each that is wanted; 0 is all

var layerNames = []string{Danger, Areas, Points}

var propertyNames = []string{"severity", "worst", "hazard_ID", "uuid", "type", "category", "place_kind", "place_known_as", "rank", "importance", headlineName, "more"}

const headlineName = "headline"

// SomeLayers returns a Detail with only some of d's layers, by their names, separated by commas.
func (d Detail) SomeLayers(list string) (Detail, error) {
	var err error
	d.layers, err = bitsOf(list, layerNames)
	return d, err
}

// SomeProperties returns a Detail with only some of d's properties, by their names, separated by commas.
func (d Detail) SomeProperties(list string) (Detail, error) {
	var err error
	d.properties, err = bitsOf(list, propertyNames)
	return d, err
}

func bitsOf(list string, names []string) (bits uint32, err error) {
	for name := range strings.SplitSeq(list, ",") {
		i := slices.Index(names, name)
		if i < 0 {
			return 0, fmt.Errorf("%.40q is not one of %s", name, strings.Join(names, ", "))
		}
		bits |= 1 << i
	}
	return bits, nil
}

// HasLayer reports whether a layer is wanted.
func (d Detail) HasLayer(name string) bool { return has(d.layers, layerNames, name) }

// HasProperty reports whether a property is wanted.
func (d Detail) HasProperty(name string) bool { return has(d.properties, propertyNames, name) }

func has(bits uint32, names []string, name string) bool {
	return bits == 0 || bits&(1<<slices.Index(names, name)) != 0
}

// Speaks reports whether a tile depends on the reader's language.
func (d Detail) Speaks() bool { return d.HasLayer(Points) && d.HasProperty(headlineName) }

// noTag stands for a property that is not wanted.
var noTag = [2]uint32{math.MaxUint32, math.MaxUint32}
