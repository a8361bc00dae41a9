package format_test

import (
	"context"

	"github.com/hazardd/hazardd/internal/source"
	"github.com/hazardd/hazardd/internal/store"
)

type batch = source.Batch

// ctx is that of what all tests share: it outlives each of them.
var ctx = context.Background()

func openStore(dir string) (*store.Store, error) {
	return store.Open(ctx, dir, "sqlite:?synchronous=off") // nothing here is about durability
}
