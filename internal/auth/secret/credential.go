package secret

import (
	"os"
	"path/filepath"
)

// Folder is the folder of passwords and keys that only root can read. The unit of systemd hands its
// files to the service as credentials (LoadCredential=secrets:…, systemd.exec(5)).
const Folder = "/etc/hazardd/secrets"

// Path returns where a file can be read: for a file of Folder, in a service of systemd, its copy for
// the service.
func Path(path string) string {
	dir := os.Getenv("CREDENTIALS_DIRECTORY")
	if dir == "" || filepath.Dir(path) != Folder {
		return path
	}
	at := filepath.Join(dir, "secrets_"+filepath.Base(path))
	if _, err := os.Stat(at); err != nil {
		return path // errors then name the file that the operator knows
	}
	return at
}
