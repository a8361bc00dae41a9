package geo

import "testing"

func TestLineOfOneRepeatedPositionInventsNoOther(t *testing.T) {
	for name, text := range map[string]string{
		"one position twice":           `{"type":"LineString","coordinates":[[170,10],[170,10]]}`,
		"one position three times":     `{"type":"LineString","coordinates":[[170,10],[170,10],[170,10]]}`,
		"one position and its repeats": `{"type":"MultiLineString","coordinates":[[[170,10],[170,10]],[[170,10],[171,10]]]}`,
	} {
		s, err := ParseLoose([]byte(text))
		if err != nil {
			continue // it is refused, so no position was invented
		}
		if west, south, _, _ := s.Bounds(); west != 170 || south != 10 {
			t.Errorf("%s: %s", name, s.GeoJSON())
		}
	}
}
