// Package write serves the changes that editors make: hazards, products, files, drafts, joins and
// held reports. What a change means, and who may make it, is decided in internal/edit.
package write

import (
	"net/http"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/edit"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/serve/read"
	"github.com/hazardd/hazardd/internal/serve/route"
)

// Handlers serves the changes.
type Handlers struct {
	*read.Hazards
	Edit    *edit.Editor
	Intake  *fuse.Intake
	MaxFile int64 // bounds an uploaded file, in bytes
}

// Routes adds the changes.
func (a *Handlers) Routes() {
	a.writes("POST /hazards", a.createHazard)
	a.writes("PATCH /hazards/{hazard}", a.hazardBy(a.Edit.PatchHazard))
	a.writes("POST /hazards/{hazard}/retract", a.hazardBy(a.Edit.Retract))
	a.writes("POST /hazards/{hazard}/redact", a.hazardBy(a.Edit.RedactHazard))
	a.writes("POST /hazards/{hazard}/merge", a.hazardBy(a.Edit.Merge))
	a.writes("POST /hazards/{hazard}/split", a.hazardBy(a.Edit.Split))
	a.writes("POST /hazards/{hazard}/confirm", a.hazardBy(a.Edit.Confirm))
	a.writes("POST /hazards/{hazard}/undo", a.hazardBy(a.Edit.Undo))
	a.writes("POST /hazards/{hazard}/products", a.createProduct)
	a.writes("PATCH /products/{product}", a.productBy(a.Edit.PatchProduct))
	a.writes("PUT /products/{product}/file", a.replaceFile)
	a.writes("DELETE /products/{product}", a.deleteProduct)
	a.writes("POST /products/{product}/redact", a.productBy(a.Edit.RedactProduct))
	a.Private("GET /joins", a.joins)
	a.writes("POST /joins/{join}", a.judge)
	a.Private("GET /drafts", a.drafts)
	a.Counted("GET /drafts/count", route.JSON(a.countDrafts))
	a.Private("GET /drafts/{draft}", route.JSON(a.draft))
	a.Private("POST /drafts/{draft}/approve", a.approveDraft)
	a.Private("POST /drafts/{draft}/refuse", a.refuseDraft)
	a.Private("POST /drafts/{draft}/remind", a.remindOfDraft)
	a.Private("POST /areas/read", a.readAreaFile)
	a.Private("POST /sources/{source}/held/{held}", a.decideHeld)
}

// writes registers an operation of editors. If it needs a second person, the answer says so.
func (a *Handlers) writes(pattern string, h route.Protected) {
	a.Members(pattern, func(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
		return a.orDrafted(w, r, h(w, r, who))
	})
}
