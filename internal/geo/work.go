package geo

import "fmt"

// Work is counted in steps of about 25 ns on one core of a server of 2020: a step looks at one pair of sides that lie near
// each other. So what a geometry costs is a function of the geometry alone, whatever else the machine does.
const (
	// requestSteps is the work that ParseWKT and ParseGeoJSON do on one geometry, about 100 ms. A coastline of 20,000
	// positions takes a fifth of it; two combs of 9,800 positions each that cross would take a hundred times as much.
	requestSteps = 4_000_000

	// looseSteps is the work on each position of a feed's geometry, and leastSteps on any geometry beside it: what feeds
	// publish takes a quarter of it. So the cost of a payload grows with its length and no faster.
	looseSteps = 400
	leastSteps = 1_000_000

	stepsPerSide     = 40 // sorting and indexing a side
	stepsPerMeshSide = 80 // following a side around the areas beside it
	stepsPerCrossing = 40 // splitting two sides where they cross
)

// A CostError reports that a geometry takes more work than its budget.
type CostError struct {
	// Crossings is how many places were found where sides cross, before the budget was spent.
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
}

// requestWork is the budget of a geometry that a user wrote.
func requestWork() *work { return &work{left: requestSteps} }

// looseWork is the budget of work on geometries of feeds with that many positions.
func looseWork(positions int) *work { return &work{left: leastSteps + positions*looseSteps} }

// spend takes steps from the budget. The error is a *CostError once it is spent.
func (w *work) spend(steps int) error {
	w.spent += steps
	if w.left -= steps; w.left < 0 {
		return &CostError{w.crossings}
	}
	return nil
}

// grant adds steps to the budget, of which at least so many are left then.
func (w *work) grant(steps int) { w.left = max(w.left, 0) + steps }

// cross takes the steps of a crossing. That they were too many, the next call of spend reports.
func (w *work) cross() {
	w.crossings++
	w.spent += stepsPerCrossing
	w.left -= stepsPerCrossing
}
