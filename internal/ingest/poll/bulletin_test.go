package poll

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/sources/tsunami"
)

// The index leads to a message and its bulletin at once. What the bulletin draws must not be lost where the message comes later.
func TestABulletinIsDrawnThoughItsMessageIsLate(t *testing.T) {
	// The compressor of shapes serves the whole process. It must not belong to the bubble of the first case.
	if _, err := newBed(t).store.Hazards.KeepShapes(t.Context(), [][]hazard.Shape{{}}); err != nil {
		t.Fatal(err)
	}
	for name, late := range map[string]time.Duration{"at once": 0, "half a minute later": 30 * time.Second} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, b *bed) {
				const folder = "/events/PHEB/2000/01/01/00001000/1/WEPA40/"
				began := time.Now().UTC()
				at := func(d time.Duration, layout string) string { return strings.ToUpper(began.Add(d).Format(layout)) }
				index := `<feed xmlns="http://www.w3.org/2005/Atom"><id>a</id><updated>` + began.Format(time.RFC3339) + `</updated><entry><id>b</id><updated>` + began.Format(time.RFC3339) + `</updated>
<link rel="related" title="CapXML document" href="https://www.tsunami.gov` + folder + `PHEBCAP.xml" type="application/cap+xml" />
<link rel="alternate" title="Bulletin" href="https://www.tsunami.gov` + folder + `WEPA40.txt" type="application/xml" /></entry></feed>`
				message := `<alert xmlns="urn:oasis:names:tc:emergency:cap:1.2"><identifier>PHEB-1-00001000</identifier><sender>ptwc@noaa.gov</sender><sent>` + began.Format("2006-01-02T15:04:05-00:00") + `</sent>
<status>Actual</status><msgType>Alert</msgType><scope>Public</scope><incidents>00001000</incidents><info><category>Geo</category><event>Tsunami Threat</event><urgency>Immediate</urgency>
<severity>Unknown</severity><certainty>Likely</certainty><web>http://ntwc.arh.noaa.gov` + folder + `WEPA40.txt</web>
<parameter><valueName>EventOriginTime</valueName><value>` + began.Add(-10*time.Minute).Format("2006-01-02T15:04:05-00:00") + `</value></parameter>
<parameter><valueName>EventLatLon</valueName><value>32.551,130.749 0.000</value></parameter><area><areaDesc>Kyushu</areaDesc></area></info></alert>`
				bulletin := "TSUNAMI MESSAGE NUMBER 1\nNWS PACIFIC TSUNAMI WARNING CENTER HONOLULU HI\n" + at(0, "1504 UTC Mon Jan 02 2006") +
					"\n\nPRELIMINARY EARTHQUAKE PARAMETERS\n---------------------------------\n\n  * ORIGIN TIME    " + at(-10*time.Minute, "1504 UTC Jan 02 2006") +
					"\n  * COORDINATES    32.6 NORTH  130.7 EAST\n\nESTIMATED TIMES OF ARRIVAL\n--------------------------\n\n" +
					"    LOCATION         REGION             COORDINATES    ETA(UTC)\n    ------------------------------------------------------------\n" +
					"    NAGASAKI         JAPAN             32.7N 129.7E   " + at(time.Hour, "1504 01/02") + "\n\n$$\n"
				b.net.serve("www.tsunami.gov", func(w http.ResponseWriter, r *http.Request) {
					switch {
					case strings.HasSuffix(r.URL.Path, "PHEBAtom.xml"):
						_, _ = io.WriteString(w, index)
					case strings.HasSuffix(r.URL.Path, "PHEBCAP.xml") && time.Since(began) >= late:
						_, _ = io.WriteString(w, message)
					case strings.HasSuffix(r.URL.Path, "WEPA40.txt"):
						_, _ = io.WriteString(w, bulletin)
					default:
						w.WriteHeader(http.StatusInternalServerError)
					}
				})
				src := Source{Source: tsunami.Source()}
				src.Feeds = src.Feeds[1:]
				b.run(b.poller(src), 3*time.Minute)
				h, err := b.store.Hazards.ByUUID(t.Context(), hazard.EventUUID(tsunami.Name, "00001000"))
				if err != nil {
					t.Fatalf("%v\n%s", err, b.log)
				}
				if len(h.Shapes) != 1 || h.Shapes[0].Part != "arrivals" {
					t.Errorf("shapes %v\n%s", h.Shapes, b.log)
				}
				if s := b.status(src)[0]; s.State != OK || s.Documents.Missing != 0 {
					t.Errorf("status %+v, %v", s, s.Error)
				}
			})
		})
	}
}
