package mirror_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/ingest/sources/mirror"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/server"
)

// recordedAt is the time of the last recording: 2025-02-07.
const recordedAt hazard.Instant = 1738900800000 // 2025-02-07

// Every recording of other servers. Recordings that are not a list or record of hazards with the
// field names of the base interface are rejected as a whole, with an error that describes them.
var recordings = map[string]struct {
	read, reports, expired, withdrawn, suspect int
	refused                                    string
}{
	"2025-hazard_data.json":                          {read: 1, reports: 1},
	"HpSrvSearchTestOrder.json":                      {read: 1, reports: 1},
	"hpsrvhazard01.json":                             {read: 1, reports: 1, expired: 1},
	"hpsrvhazard02.json":                             {read: 1, reports: 1, expired: 1},
	"hpsrvhazard04.json":                             {read: 1, reports: 1, expired: 1, suspect: 1}, // its name begins with "test_"; two dates are numbers
	"hpsrvhazard1.json":                              {read: 1, reports: 1, withdrawn: 1},           // over, but before its stated end
	"hpsrvhazard_with_start_later_then_end.json":     {read: 1, reports: 1, expired: 1},
	"hpsrvsearch.json":                               {read: 1, reports: 1, expired: 1},
	"2025-exposure_detail.json":                      {refused: "an exposure of a hazard"},
	"2025-hazard_geo.geojson":                        {refused: "a GeoJSON FeatureCollection"},
	"alert-area.json":                                {refused: "a GeoJSON FeatureCollection"},
	"job-magsdata01.json":                            {refused: "a GeoJSON FeatureCollection"},
	"job-timeline01.json":                            {refused: "a GeoJSON FeatureCollection"},
	"job-timeline02.json":                            {refused: "a GeoJSON FeatureCollection"},
	"job-timeline03.json":                            {refused: "a GeoJSON FeatureCollection"},
	"mapsrv-PdcMapSrvNormalizerTest.json":            {refused: "a GeoJSON Feature"},
	"mapsrv-PdcMapSrvNormalizerTest.Geometries.json": {refused: "a GeoJSON geometry"},
	"job-SQSDataTestOrder01.json":                    {refused: "a message pushed to a subscriber"},
	"job-SQSDataTestOrder02.json":                    {refused: "a message pushed to a subscriber"},
	"job-activeEvent.json":                           {refused: "a message pushed to a subscriber"},
	"job-autoExpireActiveEvent.json":                 {refused: "a message pushed to a subscriber"},
	"job-autoExpireExpiredEvent.json":                {refused: "a message pushed to a subscriber"},
	"job-expiredEvent.json":                          {refused: "a message pushed to a subscriber"},
	"job-sqsdata04.json":                             {refused: "a message pushed to a subscriber"},
	"push-testhazard01.json":                         {refused: "a message pushed to a subscriber"},
	"push-testmag01.json":                            {refused: "a message pushed to a subscriber"},
	"push-testping01.json":                           {refused: "a message pushed to a subscriber"},
	"push-testproduct01.json":                        {refused: "a message pushed to a subscriber"},
}

func TestEveryRecording(t *testing.T) {
	test.NoRace(t)
	files, err := os.ReadDir(server.Shared(t, "feeds/base-interface"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(recordings) {
		t.Errorf("%d recordings, %d are expected", len(files), len(recordings))
	}
	for _, file := range files {
		t.Run(file.Name(), func(t *testing.T) {
			want, ok := recordings[file.Name()]
			if !ok {
				t.Fatal("is not in the table")
			}
			batch, err := mirror.Parse(server.ReadShared(t, filepath.Join("feeds/base-interface", file.Name())), mirror.Name, schemes, recordedAt)
			if want.refused != "" {
				bad, ok := errors.AsType[*source.PayloadError](err)
				if !ok || bad.Cut || !strings.HasPrefix(bad.Reason, want.refused+";") && !strings.HasPrefix(bad.Reason, want.refused+",") || len(batch.Reports)+batch.Read > 0 {
					t.Errorf("error %v, expected it to be refused as %s", err, want.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			expired, withdrawn, suspect := 0, 0, 0
			for _, r := range batch.Reports {
				switch r.Ended {
				case hazard.EndExpired:
					expired++
				case hazard.EndWithdrawn:
					withdrawn++
				}
				if r.Suspect != "" {
					suspect++
				}
			}
			if batch.Read != want.read || len(batch.Reports) != want.reports || len(batch.Rejects) != 0 || expired != want.expired || withdrawn != want.withdrawn || suspect != want.suspect || batch.Whole {
				t.Errorf("read %d, %d reports, %d expired, %d withdrawn, %d suspect, rejects %v; expected %+v", batch.Read, len(batch.Reports), expired, withdrawn, suspect, batch.Rejects, want)
			}
		})
	}
}
