package main

import (
	"os"
	"path/filepath"
	"reflect"

	"github.com/alecthomas/kong"
)

// secretsFolder is the folder of passwords and keys that only root can read. The unit of systemd
// hands its files to the service as credentials (LoadCredential=secrets:…, systemd.exec(5)).
const secretsFolder = "/etc/hazardd/secrets"

// credential returns where the file of a setting can be read: for a file of secretsFolder, in a
// service of systemd, its copy for the service.
func credential(path string) string {
	dir := os.Getenv("CREDENTIALS_DIRECTORY")
	if dir == "" || filepath.Dir(path) != secretsFolder {
		return path
	}
	at := filepath.Join(dir, "secrets_"+filepath.Base(path))
	if _, err := os.Stat(at); err != nil {
		return path // errors then name the file that the operator knows
	}
	return at
}

// decodePath decodes a flag of type path: it makes the path absolute, and finds credentials.
func decodePath(ctx *kong.DecodeContext, target reflect.Value) error {
	var path string
	if err := ctx.Scan.PopValueInto("file", &path); err != nil {
		return err
	}
	if path != "-" && path != "" {
		path = credential(kong.ExpandPath(path))
	}
	target.SetString(path)
	return nil
}
