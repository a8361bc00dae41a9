package edit_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/edit"
	"github.com/hazardd/hazardd/internal/hazard"
)

// crossedCombs returns an area of two combs with crossing teeth and 19,600 positions.
func crossedCombs(open, close, between string) string {
	var across, up []string
	for i := range 4_900 {
		x := float64(i) * 0.004
		for k, y := range []float64{0, 40} {
			across = append(across, fmt.Sprintf("%s%g%s%g%s", open, x+0.002*float64(k), between, y, close))
			up = append(up, fmt.Sprintf("%s%g%s%g%s", open, y, between, x+0.002*float64(k), close))
		}
	}
	end := fmt.Sprintf("%s41%s41%s", open, between, close)
	ring := func(ps []string, x, y int) string {
		return strings.Join(ps, ",") + "," + end + fmt.Sprintf(",%[1]s%[4]d%[3]s%[5]d%[2]s,%[1]s-1%[3]s-1%[2]s,%[1]s0%[3]s0%[2]s", open, close, between, x, y)
	}
	return ring(across, -1, 41) + ";" + ring(up, 41, -1)
}

func TestAnAreaBeyondTheBudgetIsRefused(t *testing.T) {
	e, _ := newEditor(t)
	across, up, _ := strings.Cut(crossedCombs("[", "]", ","), ";")
	area := `{"type":"MultiPolygon","coordinates":[[[` + across + `]],[[` + up + `]]]}`
	_, err := e.CreateHazard(t.Context(), editor, nil, []byte(`{"hazard_Name":"Combs","type_ID":"FLOOD","severity_ID":"WARNING","latitude":1,"longitude":1,"area":`+area+`}`), now)
	wantOverBudget(t, err, "area: ")

	h := made(t, e, `{"hazard_Name":"Flood","type_ID":"FLOOD","severity_ID":"WARNING","latitude":1,"longitude":1}`)
	_, err = e.PatchHazard(t.Context(), editor, edit.Ref{UUID: h.UUID}, nil, []byte(`{"area":`+area+`}`), now)
	wantOverBudget(t, err, "area: ")
}

func wantOverBudget(t *testing.T, err error, field string) {
	t.Helper()
	over, ok := errors.AsType[*hazard.LimitError](err)
	if !ok || over.Limit != "geometry" || over.Kind != hazard.LimitSize || !strings.HasPrefix(over.Detail, field) || !strings.Contains(over.Detail, "simplify it") {
		t.Errorf("got %v, expected a refusal of %s that names the limit", err, field)
	}
}
