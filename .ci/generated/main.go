// Command generated tests clients in Go that generators make of the description of the interface, of all
// of it: each makes a hazard with an area, lists it, reads it, its geometry and its changes, and is told
// of an error. HAZARDD_URL is the service, HAZARDD_TOKEN the token of an editor.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"strconv"

	"github.com/ogen-go/ogen/ogenerrors"

	"hazardd.example/generated/oapi"
	"hazardd.example/generated/ogen"
)

// token is what ogen's client sends.
type token string

func (t token) AccessToken(context.Context, ogen.OperationName) (ogen.AccessToken, error) {
	return ogen.AccessToken{Token: string(t)}, nil
}

// Session is the cookie of a browser, and not sent.
func (t token) Session(context.Context, ogen.OperationName) (ogen.Session, error) {
	return ogen.Session{}, ogenerrors.ErrSkipClientSecurity
}

func main() {
	ctx, url, access := context.Background(), os.Getenv("HAZARDD_URL"), os.Getenv("HAZARDD_TOKEN")
	if err := byOapiCodegen(ctx, url, access); err != nil {
		log.Fatal("oapi-codegen: ", err)
	}
	if err := byOgen(ctx, url, token(access)); err != nil {
		log.Fatal("ogen: ", err)
	}
}

func byOapiCodegen(ctx context.Context, url, access string) error {
	c, err := oapi.NewClientWithResponses(url, oapi.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+access)
		return nil
	}))
	if err != nil {
		return err
	}
	var area oapi.Geometry
	square := [][]oapi.Position{{{9, 53}, {11, 53}, {11, 54}, {9, 54}, {9, 53}}}
	if err := area.FromPolygon(oapi.Polygon{Type: oapi.PolygonTypePolygon, Coordinates: square}); err != nil {
		return err
	}
	made, err := c.CreateHazardWithResponse(ctx, nil, oapi.HazardDraft{HazardName: "Flood of a generated client", TypeID: "FLOOD", SeverityID: "WARNING", Latitude: 53.5, Longitude: 10, Area: &area})
	if err != nil || made.JSON201 == nil {
		return fmt.Errorf("a hazard: %w, %s", err, made.Body)
	}
	id := int(made.JSON201.HazardID)
	list, err := c.ListActiveHazardsWithResponse(ctx, &oapi.ListActiveHazardsParams{Type: &oapi.Types{"FLOOD"}})
	if err != nil || list.JSON200 == nil || len(*list.JSON200) != 1 || int((*list.JSON200)[0].HazardID) != id {
		return fmt.Errorf("the list: %w, %s", err, list.Body)
	}
	one, err := c.GetHazardWithResponse(ctx, strconv.Itoa(id), &oapi.GetHazardParams{F: new(oapi.GetHazardParamsFGeojson)})
	if err != nil || one.ApplicationgeoJSON200 == nil {
		return fmt.Errorf("the hazard: %w, %s", err, one.Body)
	}
	if g, err := one.ApplicationgeoJSON200.Geometry.ValueByDiscriminator(); err != nil || fmt.Sprint(g) != fmt.Sprint(oapi.Polygon{Type: "Polygon", Coordinates: square}) {
		return fmt.Errorf("its geometry: %w, %v", err, g)
	}
	changes, err := c.ListHazardChangesWithResponse(ctx, strconv.Itoa(id), nil)
	if err != nil || changes.JSON200 == nil || len(*changes.JSON200) != 1 {
		return fmt.Errorf("its changes: %w, %s", err, changes.Body)
	}
	if change, err := (*changes.JSON200)[0].AsHazardChange(); err != nil || change.Type != "hazard.created" || int(change.Hazard.HazardID) != id {
		return fmt.Errorf("its change: %w, %+v", err, change)
	}
	if no, err := c.GetHazardWithResponse(ctx, "999999", nil); err != nil || no.ApplicationproblemJSON404 == nil || no.ApplicationproblemJSON404.Status != 404 {
		return fmt.Errorf("an error: %w, %s", err, no.Body)
	}
	return nil
}

func byOgen(ctx context.Context, url string, access token) error {
	c, err := ogen.NewClient(url, access)
	if err != nil {
		return err
	}
	square := [][]ogen.Position{{{19, 53}, {21, 53}, {21, 54}, {19, 54}, {19, 53}}}
	area := ogen.NewPolygonGeometry(ogen.Polygon{Type: "Polygon", Coordinates: square})
	written, err := c.CreateHazard(ctx, &ogen.HazardDraft{HazardName: "Storm of a generated client", TypeID: ogen.TypeIdSTORM, SeverityID: ogen.SeverityIdWARNING, Latitude: 53.5, Longitude: 20, Area: ogen.NewOptGeometry(area)}, ogen.CreateHazardParams{})
	if err != nil {
		return err
	}
	made, ok := written.(*ogen.CreateHazardCreated)
	if !ok {
		return fmt.Errorf("a hazard: %+v", written)
	}
	id := ogen.Reference(strconv.Itoa(made.Response.HazardID))
	noted, err := c.CreateProduct(ctx, &ogen.ProductDraft{Title: "Note", ProductType: ogen.ProductTypeTEXTPRODUCT, Data: ogen.NewOptString("Wind")}, ogen.CreateProductParams{HazardID: id})
	if err != nil {
		return err
	}
	if made, ok := noted.(*ogen.CreateProductCreated); !ok || made.Response.Title != "Note" {
		return fmt.Errorf("a product: %+v", noted)
	}
	answer, err := c.ListActiveHazards(ctx, ogen.ListActiveHazardsParams{Type: []ogen.TypeId{ogen.TypeIdSTORM}})
	if err != nil {
		return err
	}
	if list, ok := answer.(*ogen.HazardListApplicationJSONHeaders); !ok || len(list.Response) != 1 || list.Response[0].HazardID != made.Response.HazardID {
		return fmt.Errorf("the list: %+v", answer)
	}
	one, err := c.GetHazard(ctx, ogen.GetHazardParams{HazardID: id, F: ogen.NewOptFormat(ogen.FormatGeojson)})
	if err != nil {
		return err
	}
	if f, ok := one.(*ogen.HazardFeatureHeaders); !ok || fmt.Sprint(f.Response.Geometry) != fmt.Sprint(area) {
		return fmt.Errorf("the hazard and its geometry: %+v", one)
	}
	areas, err := c.GetAlertGeography(ctx, ogen.GetAlertGeographyParams{HazardID: id, F: ogen.NewOptGetAlertGeographyF(ogen.GetAlertGeographyFGeojson)})
	if err != nil {
		return err
	}
	if list, ok := areas.(*ogen.AreaCollectionHeaders); !ok || len(list.Response.Features) != 1 || list.Response.Features[0].Properties.AreaProperties.Role != "alert" { // ogen gives its constant another name in another run
		return fmt.Errorf("its areas: %+v", areas)
	}
	log, err := c.ListChanges(ctx, ogen.ListChangesParams{})
	if err != nil {
		return err
	}
	changes, ok := log.(*ogen.ChangeListHeaders)
	if !ok || len(changes.Response) < 2 {
		return fmt.Errorf("the changes: %+v", log)
	}
	last := changes.Response[len(changes.Response)-2:]
	if last[0].HazardChange.Hazard.HazardName != "Storm of a generated client" || last[1].ProductChange.Product.Title != "Note" {
		return fmt.Errorf("the last changes: %+v", last)
	}
	none, err := c.GetHazard(ctx, ogen.GetHazardParams{HazardID: "999999"})
	if err != nil {
		return err
	}
	if no, ok := none.(*ogen.GetHazardNotFound); !ok || no.Status != 404 {
		return fmt.Errorf("an error: %+v", none)
	}
	return nil
}
