package official

import (
	"testing"

	"github.com/hazardd/hazardd/internal/ingest/source"
)

// The table of duties lists each authority of the catalog and no others, and the resulting coverage
// is valid.
func TestEveryAuthorityHasADuty(t *testing.T) {
	all, err := parseDuties(coversTable)
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, f := range Feeds() {
		name := nameForm.FindStringSubmatch(f.Name)
		if name == nil {
			t.Errorf("%s is not COUNTRY-AUTHORITY-LANGUAGE", f.Name)
			continue
		}
		used[name[1]] = true
		if _, ok := all[name[1]]; !ok {
			t.Errorf("%s: covers.tsv does not say what %s is responsible for", f.Name, name[1])
		}
		src := f.Source()
		if err := src.Check(); err != nil {
			t.Error(err)
		}
	}
	for name := range all {
		if !used[name] {
			t.Errorf("covers.tsv: no feed is of %s", name)
		}
	}
}

func TestDutiesBecomeCoverage(t *testing.T) {
	of := func(name, country string) source.Coverage {
		f := Feed{Name: name, Country: country, OID: "2.49.0.0.40.0", URL: "https://a.example/"}
		return f.Source().Coverage[0]
	}
	if c := of("at-zamg-xx", "AT"); c.Role != source.RoleResponsible || len(c.Types) == 0 || c.Countries[0] != "AT" || c.Cite != "WMO Register of Alerting Authorities, urn:oid:2.49.0.0.40.0" {
		t.Errorf("a weather service: %+v", c)
	}
	if c := of("in-ndma-xx", "IN"); c.Role != source.RoleResponsible || c.Types != nil {
		t.Errorf("civil protection: %+v", c)
	}
	if c := of("au-sa-cfs-en-2", "AU"); len(c.Within) != 1 || c.Within[0].Name != "South Australia" {
		t.Errorf("a part of a country: %+v", c)
	}
	if c := of("uk-bviddm-en", "GB"); c.Countries[0] != "VG" {
		t.Errorf("a territory: %+v", c)
	}
	if c := of("de-police-de", "DE"); c.Role != source.RoleUnknown {
		t.Errorf("nobody's duty: %+v", c)
	}
	for row, want := range map[string]string{"a\tb": "2 values", "x-y\train\t": "not one of the words", "x-y\tfire\there 1,2": "no name and box", "x-y\tall\t\nx-y\tall\t": "twice"} {
		if _, err := parseDuties(row); err == nil {
			t.Errorf("%q: no error, want %s", row, want)
		}
	}
}
