// Sbom writes the components of a program as an SPDX 2.3 document
// (https://spdx.github.io/spdx-spec/v2.3/): the modules that the Go toolchain has recorded in it.
//
//	go run ./deploy/sbom VERSION PROGRAM
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: sbom VERSION PROGRAM")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

type document map[string]any

func write(version, program string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	sum := sha256.Sum256(content)
	digest := hex.EncodeToString(sum[:])
	packages := []document{entry("hazardd", info.Main.Path, version, "NOASSERTION")}
	packages[0]["checksums"] = []document{{"algorithm": "SHA256", "checksumValue": digest}}
	packages[0]["licenseDeclared"] = "Apache-2.0"
	relations := []document{{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-hazardd"}}
	add := func(path, version string) {
		id := fmt.Sprintf("module-%d", len(packages))
		packages = append(packages, entry(id, path, version, "https://proxy.golang.org/"+path+"/@v/"+version+".zip"))
		relations = append(relations, document{"spdxElementId": "SPDXRef-hazardd", "relationshipType": "DEPENDS_ON", "relatedSpdxElement": "SPDXRef-" + id})
	}
	add("stdlib", info.GoVersion)
	packages[1]["downloadLocation"] = "https://go.dev/dl/"
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		add(m.Path, m.Version)
	}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", " ")
	return out.Encode(document{
		"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": "hazardd-" + version,
		"documentNamespace": "https://github.com/hazardd/hazardd/sbom/" + filepath.Base(program) + "-" + digest,
		"creationInfo":      document{"created": time.Unix(seconds, 0).UTC().Format(time.RFC3339), "creators": []string{"Tool: hazardd-sbom-" + version}},
		"packages":          packages, "relationships": relations,
	})
}

func entry(id, name, version, from string) document {
	return document{
		"SPDXID": "SPDXRef-" + id, "name": name, "versionInfo": version, "downloadLocation": from, "filesAnalyzed": false,
		"licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION", "copyrightText": "NOASSERTION",
		"externalRefs": []document{{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": "pkg:golang/" + name + "@" + version}},
	}
}
