package app_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/ingest/sources/cap"
	"github.com/hazardd/hazardd/internal/ingest/sources/official"
)

func config(t *testing.T, dir string) app.Config {
	return app.Config{Logger: slog.New(slog.DiscardHandler), Settings: app.Settings{DataDir: dir, Listen: "127.0.0.1:0", Grace: time.Minute}}
}

func TestFirstPasswordIsNotSpentOnAStartThatFails(t *testing.T) {
	dir := t.TempDir()
	broken := config(t, dir)
	broken.Sources, broken.ProxyURL = []string{"usgs"}, "nonsense"
	if _, err := app.Open(t.Context(), broken); err == nil {
		t.Fatal("a start with an invalid proxy succeeded")
	}
	s, err := app.Open(t.Context(), config(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	if s.FirstPassword == "" {
		t.Error("the password was lost with the start that failed")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	again, err := app.Open(t.Context(), config(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if again.FirstPassword != "" {
		t.Error("the second start created another")
	}
}

// Only the owner can read the file with the first password, and it is removed when the password
// changes.
func TestFileOfTheFirstPasswordIsGoneWithThePassword(t *testing.T) {
	s, err := app.Open(t.Context(), config(t, t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	path, err := s.KeepFirstPassword()
	if err != nil {
		t.Fatal(err)
	}
	text, errRead := os.ReadFile(path)
	info, errStat := os.Stat(path)
	if err := errors.Join(errRead, errStat); err != nil {
		t.Fatal(err)
	}
	if string(text) != string(s.FirstPassword)+"\n" || info.Mode() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	if err := s.Auth.Accounts().SetPassword(ctx, auth.Actor{}, "admin", "umbrella trombone quartz lagoon", 0, s.Now()); err != nil {
		t.Fatal(err)
	}
	for range 300 { // the service looks once a second
		if _, err = os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is still there: %v", err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestRunEndsWhenItsContextDoes(t *testing.T) {
	s, err := app.Open(t.Context(), config(t, t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("ended with %v", err)
	}
}

func TestChooseSourcesNamesTheOneItDoesNotKnow(t *testing.T) {
	for setting, want := range map[string]int{"all": len(app.BuiltIn().Names()), "none": 0, "": 0, "usgs, nws": 2} {
		if got, err := app.BuiltIn().Choose(setting); err != nil || len(got) != want {
			t.Errorf("%q: %v, %v; want %d sources", setting, got, err, want)
		}
	}
	if _, err := app.BuiltIn().Choose("usgs,nowhere"); err == nil {
		t.Error("an unknown source was accepted")
	}
}

// The words of --sources: what is on by default, the official feeds of it, countries, and feeds that are off by default by name.
func TestSourcesAreChosenByWordsNamesAndCountries(t *testing.T) {
	known := app.BuiltIn()
	for setting, want := range map[string]struct{ with, without []string }{
		"all":              {[]string{"nws", "gdacs", "fr-meteofrance-xx", "ch-meteoswiss-de"}, []string{"koeri", "af-amd-en", "au-sa-cfs-en-2", "us-noaa-nws-en", "xx-fpas-en", "de-dwd-de"}},
		"official":         {[]string{"nws", "fr-meteofrance-xx"}, []string{"emsc", "eonet", "af-amd-en"}},
		"ie, usgs":         {[]string{"usgs", "ie-met-en"}, []string{"ie-met-en-2", "nws"}},
		"US":               {[]string{"nws", "nifc"}, []string{"us-noaa-nws-en", "usgs"}},
		"koeri,de":         {[]string{"koeri", "bbk"}, []string{"de-mowas-de"}},
		"af-amd-en":        {[]string{"af-amd-en"}, []string{"af-andma-en"}},
		"nz-gns-en,geonet": {[]string{"nz-gns-en", "geonet"}, nil},
	} {
		got, err := known.Choose(setting)
		if err != nil {
			t.Errorf("%q: %v", setting, err)
		}
		for _, name := range want.with {
			if !slices.Contains(got, name) {
				t.Errorf("%q: without %s", setting, name)
			}
		}
		for _, name := range want.without {
			if slices.Contains(got, name) {
				t.Errorf("%q: with %s", setting, name)
			}
		}
	}
	for setting, want := range map[string]string{
		"official, none": `combines "none" with other words`, "usgs,": `combines "" with other words`, ",": `combines "" with other words`,
		"ofical": "did you mean official?", "nwss": "did you mean nws?", "fr-meteo": "did you mean fr-meteofrance-xx?",
		"qq": "no source of that country", "de-dwd-de": "its format zip is not CAP", "tr": "no source of that country is on by default",
	} {
		if _, err := known.Choose(setting); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", setting, err, want)
		}
	}
}

// What an operator has named goes before the catalog: the same name is the operator's, and the same address is not read twice.
func TestAnOperatorsFeedGoesBeforeTheCatalog(t *testing.T) {
	var same official.Feed
	for _, f := range official.Feeds() {
		if f.Name == "ie-met-en" {
			same = f
		}
	}
	known, err := app.NewSources(app.SourceSettings{CAP: []app.CAPSource{
		{Config: cap.Config{Name: "ie-met-en", Title: "mine", URL: "https://feeds.example.org/a"}}, {Config: cap.Config{Name: "mine", URL: same.URL}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if src, err := known.Find("ie-met-en"); err != nil || src.Title != "mine" {
		t.Errorf("%q, %v", src.Title, err)
	}
	if known, err = app.NewSources(app.SourceSettings{CAP: []app.CAPSource{{Config: cap.Config{Name: "mine", URL: same.URL}}}}); err != nil {
		t.Fatal(err)
	}
	if got, err := known.Choose("all"); err != nil || slices.Contains(got, same.Name) || !slices.Contains(got, "mine") {
		t.Errorf("all: %v", err)
	}
	if got, err := known.Choose(same.Name); err != nil || !slices.Equal(got, []string{same.Name}) {
		t.Errorf("by its name: %v, %v", got, err)
	}
}

// Shutdown of net/http drops a request that it finds just read. A proxy that had sent it cannot know whether it was done.
func TestAConnectionThatWasMadeBeforeTheEndIsAnswered(t *testing.T) {
	s, err := app.Open(t.Context(), config(t, t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	defer func() {
		end()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	dial := func() (net.Conn, error) { return net.Dial("tcp", s.Addr().String()) }
	early, err := dial()
	if err != nil {
		t.Fatal(err)
	}
	defer early.Close()
	resp, err := http.Get("http://" + s.Addr().String() + "/healthz") // by a connection that is accepted after the other
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close() // all of it has come
	end()
	for {
		late, err := dial()
		if err != nil {
			break
		}
		_ = late.Close() // it was in time
	}
	if _, err := fmt.Fprint(early, "GET /healthz HTTP/1.1\r\nHost: hazardd\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	resp, err = http.ReadResponse(bufio.NewReader(early), nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK || !resp.Close {
		t.Errorf("%s, closed %v; want 200, closed", resp.Status, resp.Close)
	}
	_ = resp.Body.Close() // the connection ends
}
