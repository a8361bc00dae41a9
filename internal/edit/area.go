package edit

import "github.com/hazardd/hazardd/internal/format/areafile"

// ReadAreas reads the areas of a file. It takes turns with other work on editors' geometries.
func (e *Editor) ReadAreas(doc []byte) (*areafile.File, error) {
	defer e.shape()()
	return areafile.Read(doc)
}
