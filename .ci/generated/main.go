// Command generated tests clients in Go that generators make of the description of the interface: that
// of oapi-codegen makes a hazard and lists it, that of ogen lists it and adds a product. HAZARDD_URL is
// the service, HAZARDD_TOKEN the token of an editor.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"strconv"

	"hazardd.example/generated/oapi"
	"hazardd.example/generated/ogen"
)

// token is what ogen's client sends.
type token string

func (t token) AccessToken(context.Context, ogen.OperationName) (ogen.AccessToken, error) {
	return ogen.AccessToken{Token: string(t)}, nil
}

func main() {
	ctx, url, access := context.Background(), os.Getenv("HAZARDD_URL"), os.Getenv("HAZARDD_TOKEN")
	id, err := byOapiCodegen(ctx, url, access)
	if err != nil {
		log.Fatal("oapi-codegen: ", err)
	}
	if err := byOgen(ctx, url, token(access), id); err != nil {
		log.Fatal("ogen: ", err)
	}
}

// byOapiCodegen makes a hazard, and returns its number.
func byOapiCodegen(ctx context.Context, url, access string) (id int, err error) {
	c, err := oapi.NewClientWithResponses(url, oapi.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+access)
		return nil
	}))
	if err != nil {
		return 0, err
	}
	made, err := c.CreateHazardWithResponse(ctx, nil, oapi.HazardDraft{HazardName: "Flood of a generated client", TypeID: "FLOOD", SeverityID: "WARNING", Latitude: 53.5, Longitude: 10})
	if err != nil || made.JSON201 == nil {
		return 0, fmt.Errorf("a hazard: %w, %s", err, made.Body)
	}
	list, err := c.ListActiveHazardsWithResponse(ctx, &oapi.ListActiveHazardsParams{Type: &oapi.Types{"FLOOD"}})
	if err != nil || list.JSON200 == nil || len(*list.JSON200) == 0 {
		return 0, fmt.Errorf("the list: %w, %s", err, list.Body)
	}
	return int(made.JSON201.HazardID), nil
}

// byOgen lists hazards, and adds a product to one.
func byOgen(ctx context.Context, url string, access token, id int) error {
	c, err := ogen.NewClient(url, access)
	if err != nil {
		return err
	}
	answer, err := c.ListActiveHazards(ctx, ogen.ListActiveHazardsParams{Type: []ogen.TypeId{ogen.TypeIdFLOOD}})
	if err != nil {
		return err
	}
	list, ok := answer.(*ogen.HazardListApplicationJSONHeaders)
	if !ok || len(list.Response) == 0 || list.Response[0].HazardID != id {
		return fmt.Errorf("the list: %+v", answer)
	}
	written, err := c.CreateProduct(ctx, &ogen.ProductDraft{Title: "Note", ProductType: ogen.ProductTypeTEXTPRODUCT, Data: ogen.NewOptString("Water")}, ogen.CreateProductParams{HazardID: ogen.Reference(strconv.Itoa(id))})
	if err != nil {
		return err
	}
	if made, ok := written.(*ogen.CreateProductCreated); !ok || made.Response.Title != "Note" {
		return fmt.Errorf("a product: %+v", written)
	}
	return nil
}
