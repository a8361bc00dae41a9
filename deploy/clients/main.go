// Command clients writes the clients in Python and TypeScript as package managers install them: a
// wheel (PEP 427) and an archive of npm. It needs neither Python nor Node.js. Files have the time
// SOURCE_DATE_EPOCH, so the same sources give the same bytes.
//
//	go run ./deploy/clients VERSION FOLDER
package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: go run ./deploy/clients VERSION FOLDER, in the folder of the repository")
	}
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		log.Fatalf("SOURCE_DATE_EPOCH: %v", err)
	}
	at := time.Unix(seconds, 0).UTC()
	if err := errors.Join(wheel(os.Args[1], os.Args[2], at), npm(os.Args[1], os.Args[2], at)); err != nil {
		log.Fatal(err)
	}
}

// file is a file of an archive.
type file struct {
	name    string
	content []byte
}

// read reads files of a folder, and adds the license.
func read(folder, prefix, license string, names ...string) ([]file, error) {
	var files []file
	for _, name := range append(names, "LICENSE") {
		path, as := filepath.Join(folder, name), prefix+name
		if name == "LICENSE" {
			path, as = name, license
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		files = append(files, file{as, content})
	}
	return files, nil
}

var released = regexp.MustCompile(`^\d+\.\d+\.\d+$`)

// wheel writes the wheel of clients/python.
func wheel(version, folder string, at time.Time) error {
	if !released.MatchString(version) { // a local version of PEP 440
		version = "0.0.0+" + strings.ReplaceAll(version, "-", ".")
	}
	info := "hazardd-" + version + ".dist-info/"
	sources, err := filepath.Glob("clients/python/hazardd/*.py")
	if err != nil {
		return err
	}
	names := []string{"hazardd/py.typed"}
	for _, source := range sources {
		names = append(names, "hazardd/"+filepath.Base(source))
	}
	files, err := read("clients/python", "", info+"LICENSE", names...)
	if err != nil {
		return err
	}
	metadata, err := metadata(version)
	if err != nil {
		return err
	}
	files = append(files, file{info + "METADATA", metadata}, file{info + "WHEEL", []byte("Wheel-Version: 1.0\nGenerator: hazardd\nRoot-Is-Purelib: true\nTag: py3-none-any\n")})
	var record, out bytes.Buffer
	archive := zip.NewWriter(&out)
	write := func(f file) error {
		w, err := archive.CreateHeader(&zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: at})
		if err == nil {
			_, err = w.Write(f.content)
		}
		return err
	}
	for _, f := range files {
		sum := sha256.Sum256(f.content)
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", f.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(f.content))
		if err := write(f); err != nil {
			return err
		}
	}
	fmt.Fprintf(&record, "%sRECORD,,\n", info)
	if err := errors.Join(write(file{info + "RECORD", record.Bytes()}), archive.Close()); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "hazardd-"+version+"-py3-none-any.whl"), out.Bytes(), 0o644)
}

// metadata returns the file METADATA of the wheel, of what pyproject.toml says.
func metadata(version string) ([]byte, error) {
	project, err := os.ReadFile("clients/python/pyproject.toml")
	if err != nil {
		return nil, err
	}
	page, err := os.ReadFile("clients/python/README.md")
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "Metadata-Version: 2.1\nName: hazardd\nVersion: %s\n", version)
	for _, field := range [][2]string{
		{"Summary", `(?m)^description = "(.*)"`}, {"License", `(?m)^license = \{text = "(.*)"\}`}, {"Requires-Python", `(?m)^requires-python = "(.*)"`},
		{"Keywords", `(?m)^keywords = \[(.*)\]`}, {"Project-URL", `(?m)^(Source = ".*")`}, {"Classifier", `(?m)^classifiers = \[(.*)\]`},
	} {
		m := regexp.MustCompile(field[1]).FindSubmatch(project)
		if m == nil {
			return nil, fmt.Errorf("clients/python/pyproject.toml says nothing that is %s", field[0])
		}
		values := []string{strings.NewReplacer(`"`, "", " = ", ", ").Replace(string(m[1]))}
		if field[0] == "Classifier" {
			values = strings.Split(values[0], ", ")
		}
		for _, value := range values {
			fmt.Fprintf(&out, "%s: %s\n", field[0], value)
		}
	}
	fmt.Fprintf(&out, "Description-Content-Type: text/markdown\nLicense-File: LICENSE\n\n%s", page)
	return out.Bytes(), nil
}

// npm writes the archive of clients/typescript, as npm pack does.
func npm(version, folder string, at time.Time) error {
	if !released.MatchString(version) {
		version = "0.0.0-" + version
	}
	files, err := read("clients/typescript", "package/", "package/LICENSE", "package.json", "README.md", "index.d.ts", "index.js")
	if err != nil {
		return err
	}
	files[0].content = regexp.MustCompile(`"version": "[^"]*"`).ReplaceAll(files[0].content, []byte(`"version": "`+version+`"`))
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	archive := tar.NewWriter(compressed)
	for _, f := range files {
		if err := archive.WriteHeader(&tar.Header{Name: f.name, Size: int64(len(f.content)), Mode: 0o644, ModTime: at, Format: tar.FormatUSTAR}); err != nil {
			return err
		}
		if _, err := archive.Write(f.content); err != nil {
			return err
		}
	}
	if err := errors.Join(archive.Close(), compressed.Close()); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "hazardd-"+version+".tgz"), out.Bytes(), 0o644)
}
