package mirror

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/wire"
)

func uuidOf(n int64) uuid.UUID {
	return uuid.MustParse(fmt.Sprintf("12776eb9-2585-4d93-9001-%012d", n))
}

// product returns an open product.
func product(id, parent int64, kind hazard.ProductType, alter ...func(*wire.Product)) wire.Product {
	p := wire.Product{ProductID: id, UUID: uuidOf(id).String(), ParentID: parent, Title: fmt.Sprintf("p%d", id), ProductType: string(kind), IsHidden: "N", SecurityFlag: "A",
		TimelineDate: "1738900579421"}
	switch kind {
	case hazard.TextProduct:
		p.Data = new("words")
	case hazard.URLProduct:
		p.Data = new("https://example.org/")
	case hazard.FileProduct:
		p.ProductURL, p.Filename, p.Data = new("https://example.org/file.pdf"), new("file.pdf"), new("/storage/path")
	}
	for _, f := range alter {
		f(&p)
	}
	return p
}

// shape returns a tree as one line: each product, and each folder with its content.
func shape(products []hazard.ReportProduct) string {
	name := map[string]string{"": "root"}
	var words []string
	for _, p := range products {
		name[p.Key] = p.Title
		words = append(words, cmp.Or(name[p.Parent], "?")+"/"+p.Title)
	}
	return strings.Join(words, " ")
}

func treeOf(products ...wire.Product) ([]hazard.ReportProduct, []string) {
	text, err := json.Marshal(append([]wire.Product{}, products...))
	if err != nil {
		panic(err)
	}
	got, rejects, err := readProducts(text, "h/products")
	if err != nil {
		panic(err)
	}
	var reasons []string
	for _, r := range rejects {
		reasons = append(reasons, r.Record+": "+r.Reason)
	}
	return got, reasons
}

func TestProductsAreMapped(t *testing.T) {
	got, rejects := treeOf(
		product(1, 0, hazard.FolderProduct, func(p *wire.Product) { p.CommentText = "Auto generated folder product" }),
		product(2, 1, hazard.TextProduct, func(p *wire.Product) { p.Data = new("line 1\r\nline\x00 2"); p.Title = " two\nlines " }),
		product(3, 1, hazard.URLProduct),
		product(4, 1, hazard.FileProduct),
		product(5, 0, hazard.FileProduct, func(p *wire.Product) { p.Title = ""; p.TimelineDate = ""; p.UpdateDate = "7" }),
	)
	at := hazard.Instant(1738900579421)
	want := []hazard.ReportProduct{
		{Key: uuidOf(1).String(), UUID: uuidOf(1), Title: "p1", Type: hazard.FolderProduct, Comment: "Auto generated folder product", Time: at},
		{Key: uuidOf(5).String(), UUID: uuidOf(5), Title: "file.pdf", Type: hazard.URLProduct, Data: "https://example.org/file.pdf", Time: 7},
		{Key: uuidOf(2).String(), UUID: uuidOf(2), Parent: uuidOf(1).String(), Title: "two lines", Type: hazard.TextProduct, Data: "line 1\nline 2", Time: at},
		{Key: uuidOf(3).String(), UUID: uuidOf(3), Parent: uuidOf(1).String(), Title: "p3", Type: hazard.URLProduct, Data: "https://example.org/", Time: at},
		{Key: uuidOf(4).String(), UUID: uuidOf(4), Parent: uuidOf(1).String(), Title: "p4", Type: hazard.URLProduct, Data: "https://example.org/file.pdf", Time: at},
	}
	if diff := gocmp.Diff(want, got); diff != "" || rejects != nil {
		t.Errorf("rejects %v, %s", rejects, diff)
	}
	if none, _ := treeOf(); none == nil || len(none) != 0 {
		t.Error("no products is something that is said")
	}
}

func TestTheTreeOfProducts(t *testing.T) {
	const folder, words = hazard.FolderProduct, hazard.TextProduct
	restrict := func(p *wire.Product) { p.SecurityFlag, p.OrgIDs = "R", "3" }
	for name, tt := range map[string]struct {
		products []wire.Product
		want     string
	}{
		"folders come before what is in them":       {[]wire.Product{product(1, 3, words), product(2, 1, words), product(3, 9, folder), product(9, 0, folder)}, "root/p2 root/p9 p9/p3 p3/p1"},
		"an orphan is at the root":                  {[]wire.Product{product(1, 77, words)}, "root/p1"},
		"a folder in itself":                        {[]wire.Product{product(1, 1, folder), product(2, 1, words)}, "root/p1 p1/p2"},
		"folders in a circle":                       {[]wire.Product{product(1, 2, folder), product(2, 3, folder), product(3, 1, folder), product(4, 2, words)}, "root/p1 p1/p3 p3/p2 p2/p4"},
		"two circles":                               {[]wire.Product{product(1, 2, folder), product(2, 1, folder), product(3, 4, folder), product(4, 3, folder)}, "root/p1 p1/p2 root/p3 p3/p4"},
		"a product that came twice":                 {[]wire.Product{product(1, 0, words), product(1, 0, words)}, "root/p1"},
		"restricted":                                {[]wire.Product{product(1, 0, words, restrict), product(2, 0, words)}, "root/p2"},
		"restricted by its organizations alone":     {[]wire.Product{product(1, 0, words, func(p *wire.Product) { p.OrgIDs = "3" })}, ""},
		"restricted by its flag alone":              {[]wire.Product{product(1, 0, words, func(p *wire.Product) { p.SecurityFlag = "R" })}, ""},
		"a flag that is not known is no leave":      {[]wire.Product{product(1, 0, words, func(p *wire.Product) { p.SecurityFlag = "" }), product(2, 0, words, func(p *wire.Product) { p.SecurityFlag = "r" })}, ""},
		"commas are no organizations":               {[]wire.Product{product(1, 0, words, func(p *wire.Product) { p.OrgIDs = ", " })}, "root/p1"},
		"what lies in a restricted folder":          {[]wire.Product{product(1, 0, folder, restrict), product(2, 1, folder), product(3, 2, words), product(4, 0, words)}, "root/p4"},
		"a restricted folder in a circle":           {[]wire.Product{product(1, 2, folder), product(2, 1, folder, restrict), product(3, 1, words)}, ""},
		"restricted without a number":               {[]wire.Product{product(0, 0, words, restrict)}, ""},
		"once open, once restricted":                {[]wire.Product{product(1, 0, words), product(1, 0, words, restrict)}, ""},
		"hidden, and what is in it":                 {[]wire.Product{product(1, 0, folder, func(p *wire.Product) { p.Title, p.IsHidden = "Recycle Bin", "Y" }), product(2, 1, words), product(3, 0, words)}, "root/Recycle Bin root/p3 Recycle Bin/p2"},
		"a parent that is no folder":                {[]wire.Product{product(1, 0, words), product(2, 1, words)}, "root/p1 root/p2"},
		"in a restricted product that is no folder": {[]wire.Product{product(1, 0, words, restrict), product(2, 1, words)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, rejects := treeOf(tt.products...)
			if shape(got) != tt.want || rejects != nil {
				t.Errorf("tree %q, expected %q, rejects %v", shape(got), tt.want, rejects)
			}
			slices.Reverse(tt.products)
			if again, _ := treeOf(tt.products...); shape(again) != tt.want {
				t.Errorf("in the other order: %q", shape(again))
			}
		})
	}
}

func TestProductsThatCannotBeUsedAreRejected(t *testing.T) {
	got, rejects := treeOf(
		product(1, 0, hazard.URLProduct, func(p *wire.Product) { p.Data = new("javascript:alert(1)") }),
		product(2, 0, hazard.URLProduct, func(p *wire.Product) { p.Data = nil }),
		product(3, 0, hazard.FileProduct, func(p *wire.Product) { p.ProductURL = new("file:///etc/passwd") }),
		product(4, 0, hazard.FileProduct, func(p *wire.Product) { p.ProductURL = new("/products/4/file") }),
		product(5, 0, "MOVIE_PRODUCT"),
		product(0, 0, hazard.TextProduct),
		product(6, 0, hazard.TextProduct, func(p *wire.Product) { p.UUID = "none" }),
		product(7, 0, hazard.TextProduct, func(p *wire.Product) { p.UUID = uuidOf(8).String() }),
		product(8, 0, hazard.TextProduct),
	)
	if shape(got) != "root/p6 root/p7 root/p8" || got[0].UUID != uuid.Nil || got[1].UUID != uuidOf(8) || got[2].UUID != uuid.Nil || got[1].Key == got[2].Key {
		t.Errorf("tree %+v", got)
	}
	for i, words := range []string{"product_ID: 0", `data: "javascript`, `data: ""`, `product_url: "file:`, `product_url: "/products`, `product_Type: "MOVIE_PRODUCT"`} {
		if len(rejects) != 6 || !strings.Contains(rejects[i], words) {
			t.Errorf("rejects %q, expected %s", rejects, words)
		}
	}
}

// An unreadable record is stored for inspection by people who may not see restricted data.
func TestNothingOfARestrictedProductIsRepeated(t *testing.T) {
	test.NoRace(t)
	got, rejects, err := readProducts([]byte(`[
		{"product_ID":1,"security_Flag":"R","org_IDs":"3","title":["secret"]},
		{"product_ID":2,"security_Flag":"A","org_IDs":"3","title":["secret"]},
		{"product_ID":3,"title":["secret"]},
		{"product_ID":4,"security_Flag":"A","org_IDs":"","parent_ID":["open"]},
		{"product_ID":-5,"security_Flag":"R","title":"secret","product_Type":"secret"},
		{"product_ID":6,"security_Flag":"R","title":"secret","product_Type":"URL_PRODUCT","data":"secret:"},
		{"product_ID":7,"security_Flag":"A","org_IDs":[3],"title":"secret","product_Type":"TEXT_PRODUCT","data":"secret"},
		{"product_ID":8,"security_Flag":"A","org_IDs":NaN,"title":"secret","product_Type":"TEXT_PRODUCT","data":"secret"},
		{"product_ID":9,"security_Flag":"A","org_IDs":"","org_IDs":"3","title":"secret","product_Type":"TEXT_PRODUCT","data":"secret"},
		{"product_ID":10,"security_Flag":"A" "org_IDs":"3","title":"secret"}]`), "h/products")
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal([]any{got, rejects})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rejects {
		text = append(append(text, r.Raw...), r.Reason...)
	}
	if len(got) > 0 || len(rejects) != 3 || strings.Contains(string(text), "secret") || !strings.Contains(string(text), "open") {
		t.Errorf("tree %+v, rejects %+v", got, rejects)
	}
}

// A folder that must not be mirrored hides its content, even if the folder's record is unreadable.
func TestWhatLiesInARestrictedFolderStaysThereWhateverIsWrongWithTheFolder(t *testing.T) {
	child := `{"product_ID":2,"parent_ID":1,"security_Flag":"A","org_IDs":"","title":"SECRET","product_Type":"TEXT_PRODUCT","data":"x"}`
	open := `{"product_ID":3,"parent_ID":0,"security_Flag":"A","org_IDs":"","title":"open","product_Type":"TEXT_PRODUCT","data":"x"}`
	for name, folder := range map[string]string{
		"a member twice":             `{"product_ID":1,"security_Flag":"R","org_IDs":"3","product_Type":"FOLDER_PRODUCT","title":"a","title":"b"}`,
		"a number in words":          `{"product_ID":"one","security_Flag":"R","org_IDs":"3","product_Type":"FOLDER_PRODUCT","title":"a"}`,
		"a list of organizations":    `{"product_ID":1,"security_Flag":"A","org_IDs":["3"],"product_Type":"FOLDER_PRODUCT","title":"a"}`,
		"a title that is an object":  `{"product_ID":1,"security_Flag":"R","org_IDs":"3","product_Type":"FOLDER_PRODUCT","title":{"en":"a"}}`,
		"organizations that are NaN": `{"product_ID":1,"security_Flag":"A","org_IDs":NaN,"product_Type":"FOLDER_PRODUCT","title":"a"}`,
	} {
		t.Run(name, func(t *testing.T) {
			got, _, err := readProducts([]byte("["+child+","+folder+","+open+"]"), "h/products")
			if err != nil || shape(got) != "root/open" {
				t.Errorf("%q, error %v", shape(got), err)
			}
		})
	}
}

func TestABadProductCostsNoOther(t *testing.T) {
	good := `{"product_ID":"2","parent_ID":"0","security_Flag":"A","org_IDs":"","title":"good","product_Type":"TEXT_PRODUCT","data":7,"timeline_Date":1738900579421}`
	for name, bad := range map[string]string{
		"NaN":           `{"product_ID":1,"security_Flag":"A","org_IDs":"","title":"x","product_Type":"TEXT_PRODUCT","data":"x","more":NaN}`,
		"a raw 0x01":    "{\"product_ID\":1,\"security_Flag\":\"A\",\"org_IDs\":\"\",\"title\":\"x\x01\",\"product_Type\":\"TEXT_PRODUCT\",\"data\":\"x\"}",
		"a lost quote":  `{"product_ID":1,"security_Flag":"A","org_IDs":"","title":"x,"product_Type":"TEXT_PRODUCT"}`,
		"a number":      `7`,
		"null":          `null`,
		"a member more": `{"product_ID":1,"security_Flag":"A","org_IDs":"","title":"x","title":"y","product_Type":"TEXT_PRODUCT"}`,
	} {
		t.Run(name, func(t *testing.T) {
			got, rejects, err := readProducts([]byte("["+bad+","+good+"]"), "h/products")
			i := slices.IndexFunc(got, func(p hazard.ReportProduct) bool { return p.Title == "good" })
			if err != nil || i < 0 || got[i].Data != "7" || got[i].Time != 1738900579421 {
				t.Errorf("%+v, rejects %v, error %v", got, rejects, err)
			}
		})
	}
}

func TestAnyForestBecomesATree(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(0, 12).Draw(rt, "products")
		var products []wire.Product
		for i := range n {
			p := product(int64(i+1), int64(rapid.IntRange(0, n+1).Draw(rt, "parent")), rapid.SampledFrom([]hazard.ProductType{hazard.FolderProduct, hazard.TextProduct}).Draw(rt, "type"))
			p.SecurityFlag = rapid.SampledFrom([]string{"A", "A", "A", "R", ""}).Draw(rt, "flag")
			p.IsHidden = rapid.SampledFrom([]string{"N", "N", "Y"}).Draw(rt, "hidden")
			products = append(products, p)
		}
		got, _ := treeOf(products...)
		seen := map[string]hazard.ProductType{"": hazard.FolderProduct}
		for _, p := range got {
			if seen[p.Parent] != hazard.FolderProduct || seen[p.Key] != "" {
				rt.Fatalf("%s: %q in %q", shape(got), p.Key, p.Parent)
			}
			seen[p.Key] = p.Type
		}
		for i := range products {
			open := true
			for up, steps := &products[i], 0; up != nil && steps <= n; steps++ {
				open = open && up.SecurityFlag == "A"
				if up.ParentID < 1 || up.ParentID > int64(n) {
					break
				}
				up = &products[up.ParentID-1]
			}
			if j := slices.IndexFunc(got, func(p hazard.ReportProduct) bool { return p.Key == products[i].UUID }); j >= 0 && got[j].Hidden != (products[i].IsHidden == "Y") {
				rt.Fatalf("product %d hidden %t, is_Hidden %s", i+1, got[j].Hidden, products[i].IsHidden)
			}
			if _, there := seen[products[i].UUID]; there != open {
				rt.Fatalf("%s: product %d there %t, may be mirrored %t", shape(got), i+1, there, open)
			}
		}
		again, _ := treeOf(rapid.Permutation(products).Draw(rt, "order")...)
		if diff := gocmp.Diff(got, again); diff != "" {
			rt.Fatal(diff)
		}
	})
}

func TestManyProductsTakeLittleTime(t *testing.T) {
	const n = 20_000
	var products []wire.Product
	for i := range int64(n) { // each in the one before, the deepest first
		products = append(products, product(i+1, (i+2)%(n+1), hazard.FolderProduct))
	}
	if got, _ := treeOf(products...); len(got) != n {
		t.Errorf("%d products", len(got))
	}
}
