package main

import (
	"context"
	"io"
	"strconv"
	"time"

	"github.com/hazardd/hazardd/internal/ingest/poll"
	"github.com/hazardd/hazardd/internal/store"
)

type sourceCmd struct {
	List    sourceListCmd    `cmd:"" help:"Show the state of every source."`
	Catalog sourceCatalogCmd `cmd:"" help:"List the official feeds of the world that are built in."`
	Poll    sourcePollCmd    `cmd:"" help:"Poll a source now and show the result."`
	Errors  sourceErrorsCmd  `cmd:"" help:"Show the rejected records and the held reports of a source."`
	Release sourceReleaseCmd `cmd:"" help:"Release a held report."`
	Dismiss sourceDismissCmd `cmd:"" help:"Dismiss a held report as wrong."`
}

type sourceListCmd struct {
	sourcesFlag
}

// maxShownError bounds an error in a table, in characters; JSON has all of it.
const maxShownError = 80

// Run shows the sources.
func (l *sourceListCmd) Run(ctx context.Context, c *console, g *globals) error {
	known, names, err := l.chosen()
	if err != nil {
		return err
	}
	return g.withOldStore(ctx, func(s *store.Store) error {
		states, err := known.Statuses(ctx, s, names, c.instant())
		if err != nil {
			return err
		}
		t := newTable("NAME", "STATE", "LAST SUCCESS", "AGE", "LAG", "NEXT POLL", "NEW", "UPDATED", "HELD", "REJECTED", "ERROR")
		t.colours[1] = map[string]string{poll.OK: green, poll.Failing: yellow, poll.Stale: red, poll.Starting: dim, poll.Unheard: yellow, poll.Disabled: dim}
		for _, st := range states {
			t.add(sourceRow(&st, c.now())...)
		}
		return c.print(states, func(w io.Writer) error { return t.write(w, c.colour) })
	})
}

func sourceRow(st *poll.Status, now time.Time) []string {
	row := []string{st.Name, st.State, "", "", "", ""}
	if st.LastSuccess != nil {
		row[2], row[3] = clock(*st.LastSuccess), age(*st.LastSuccess, now)
	}
	if st.Lag != nil {
		row[4] = (time.Duration(*st.Lag) * time.Second).String()
	}
	if st.NextPoll != nil {
		row[5] = "due"
		if st.NextPoll.After(now) {
			row[5] = age(*st.NextPoll, now)
		}
	}
	for _, n := range []int64{st.Total.New, st.Total.Updated, st.Total.Held, st.Total.Rejected} {
		row = append(row, strconv.FormatInt(n, 10))
	}
	text := ""
	if st.Error != nil {
		text = cut(string(st.Error.Class)+": "+st.Error.Text, maxShownError)
	}
	return append(row, text)
}
