package geo

import "fmt"

// Work is counted in steps of about 25 ns on one core of a server from 2020. A step checks one pair
// of sides that are near each other. So the cost of a geometry depends on the geometry alone, not
// on the load of the machine.
const (
	// requestSteps is the work that ParseWKT and ParseGeoJSON may do on one geometry, about 100 ms.
	// A coastline of 20,000 positions needs a fifth of it. Two crossing combs of 9,800 positions
	// each would need a hundred times as much.
	requestSteps = 4_000_000

	// looseSteps is the work allowed per position of a feed's geometry; minSteps is allowed for
	// any geometry in addition. Published geometries need a quarter of it. So the cost of a payload
	// grows linearly with its length.
	looseSteps = 400
	minSteps   = 1_000_000

	stepsPerSide     = 40 // sorting and indexing a side
	stepsPerMeshSide = 80 // following a side around the areas beside it
	stepsPerCrossing = 40 // splitting two sides where they cross
)

// A CostError reports that a geometry takes more work than its budget.
type CostError struct {
	// Crossings is the number of crossings found before the budget was spent.
	Crossings int
}

func (e *CostError) Error() string {
	if e.Crossings > 0 {
		return fmt.Sprintf("more than %d sides cross each other, too many to be worked out in 100 ms; simplify it", e.Crossings)
	}
	return "its sides lie too close to each other to be checked in 100 ms; simplify it"
}

// work is the budget of one operation. It is not safe for concurrent use.
type work struct {
	left, spent int
	crossings   int
	valid       bool // each area is valid, so that sides may be looked through without an index
}

// requestWork returns the budget of a geometry that a user wrote.
func requestWork() *work { return &work{left: requestSteps} }

// looseWork returns the budget for geometries of feeds with that many positions.
func looseWork(positions int) *work { return &work{left: minSteps + positions*looseSteps} }

// spend takes steps from the budget. It returns a *CostError once the budget is spent.
func (w *work) spend(steps int) error {
	w.spent += steps
	if w.left -= steps; w.left < 0 {
		return &CostError{w.crossings}
	}
	return nil
}

// grant adds steps to the budget, so that at least that many are left.
func (w *work) grant(steps int) { w.left = max(w.left, 0) + steps }

// cross takes the steps of a crossing. If the budget is spent, the next call of spend reports it.
func (w *work) cross() {
	w.crossings++
	w.spent += stepsPerCrossing
	w.left -= stepsPerCrossing
}
