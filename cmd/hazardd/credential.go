package main

import (
	"reflect"

	"github.com/alecthomas/kong"

	"github.com/hazardd/hazardd/internal/auth/secret"
)

// decodePath decodes a flag of type path: it makes the path absolute, and finds credentials.
func decodePath(ctx *kong.DecodeContext, target reflect.Value) error {
	var path string
	if err := ctx.Scan.PopValueInto("file", &path); err != nil {
		return err
	}
	if path != "-" && path != "" {
		path = secret.Path(kong.ExpandPath(path))
	}
	target.SetString(path)
	return nil
}
