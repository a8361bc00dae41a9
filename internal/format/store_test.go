package format_test

import (
	"context"

	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/store"
)

type batch = source.Batch

// ctx is the context of resources that all tests share, because it outlives each test.
var ctx = context.Background()

func openStore(dir string) (*store.Store, error) {
	return store.Open(ctx, dir, "sqlite:?synchronous=off") // durability does not matter here
}
