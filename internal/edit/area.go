package edit

import "github.com/hazardd/hazardd/internal/areafile"

// ReadAreas reads the areas of a file, in its turn with all other geometries of editors.
func (e *Editor) ReadAreas(doc []byte) (*areafile.File, error) {
	defer e.shape()()
	return areafile.Read(doc)
}
