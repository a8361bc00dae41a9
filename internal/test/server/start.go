package server

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/test/datadir"
)

// start is the data folder of a service with the users of Serve.
type start struct {
	datadir.Files
	redCross, fireBrigade int64
}

var makeStart = sync.OnceValues(func() (made start, err error) {
	made.Files, err = datadir.Make(func(dir string) error {
		s, err := app.Open(context.Background(), config(dir))
		if err != nil {
			return err
		}
		made.redCross, made.fireBrigade, err = addPeople(context.Background(), s)
		return errors.Join(err, s.Close())
	})
	return made, err
})

// started holds the names of the tests that have a server on a copy of start. Further servers of
// such a test get a store from scratch: two copies would have the same installation name and keys.
var started sync.Map

// copyStart copies start to the folder data, unless the test has a copy already.
func copyStart(t testing.TB, data string) (made start, copied bool) {
	t.Helper()
	if _, second := started.LoadOrStore(t.Name(), true); second {
		return made, false
	}
	t.Cleanup(func() { started.Delete(t.Name()) })
	made, err := makeStart()
	if err != nil {
		t.Fatal(err)
	}
	made.Copy(t, data)
	return made, true
}

// config returns the settings of a server for tests.
func config(data string) app.Config {
	return app.Config{Logger: slog.New(slog.DiscardHandler), Settings: app.Settings{DataDir: data, Listen: "127.0.0.1:0",
		Grace:      time.Minute, // otherwise a busy machine cuts requests off, and the service ends with an error
		Pictures:   -1,          // otherwise payloads of tests would lead to the network
		NoExposure: true}}       // otherwise every hazard changes once more, whenever its people are counted
}

// addPeople adds the organizations and users of Serve.
func addPeople(ctx context.Context, s *app.Service) (redCross, fireBrigade int64, err error) {
	now := s.Now()
	rc, err := s.Auth.Accounts().AddOrg(ctx, auth.Actor{}, "RC", "RC organization", now)
	if err != nil {
		return 0, 0, err
	}
	fb, err := s.Auth.Accounts().AddOrg(ctx, auth.Actor{}, "FB", "FB organization", now)
	if err != nil {
		return 0, 0, err
	}
	for _, u := range []auth.NewUser{
		{Name: "root", Role: auth.Admin}, {Name: "reader", Role: auth.Reader},
		{Name: "red", Role: auth.Editor, Orgs: []int64{rc.ID}}, {Name: "red-reader", Role: auth.Reader, Orgs: []int64{rc.ID}},
		{Name: "fire", Role: auth.Editor, Orgs: []int64{fb.ID}},
	} {
		u.Password = Password
		if err := s.Auth.Accounts().AddUser(ctx, auth.Actor{}, u, now); err != nil {
			return 0, 0, err
		}
	}
	return rc.ID, fb.ID, nil
}
