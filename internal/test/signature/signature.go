// Package signature gives tests keys with certificates, and verifies signed XML with two libraries.
package signature

import (
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/beevik/etree"
	dsig "github.com/russellhaering/goxmldsig"
)

// KeyPair writes a key, its certificate and the certificate of the authority that vouches for it, and gives the three files. The first two are what a server
// signs messages with.
func KeyPair(t testing.TB, secret, authority crypto.Signer) (key, certificate, root string) {
	t.Helper()
	dir := t.TempDir()
	write := func(name, kind string, der []byte, mode os.FileMode) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	must := func(der []byte, err error) []byte {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	now := time.Now()
	above := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Authority"}, NotBefore: now.Add(-24 * time.Hour), NotAfter: now.Add(48 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	own := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "alerts.example.org"}, NotBefore: now.Add(-24 * time.Hour), NotAfter: now.Add(48 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature}
	root = write("root.pem", "CERTIFICATE", must(x509.CreateCertificate(rand.Reader, above, above, authority.Public(), authority)), 0o644)
	certificate = write("certificate.pem", "CERTIFICATE", must(x509.CreateCertificate(rand.Reader, own, above, secret.Public(), authority)), 0o644)
	return write("key.pem", "PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(secret)), 0o600), certificate, root
}

// Verify says whether the signature of an XML document is good, by the library that trusts the certificate. It fails if xmlsec1, which trusts the authority of
// root alone, says otherwise.
func Verify(t testing.TB, certificate, root string, document []byte) error {
	t.Helper()
	text, err := os.ReadFile(certificate)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	anchor, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	tree := etree.NewDocument()
	if err := tree.ReadFromBytes(document); err != nil {
		t.Fatal(err)
	}
	_, ours := dsig.NewDefaultValidationContext(&dsig.MemoryX509CertificateStore{Roots: []*x509.Certificate{anchor}}).Validate(tree.Root())
	program, err := exec.LookPath("xmlsec1")
	switch {
	case err == nil:
	case os.Getenv("CI") == "true":
		t.Fatal("xmlsec1 is not installed: .ci/run installs it")
	default:
		t.Log("not checked by xmlsec1, which is not installed")
		return ours
	}
	file := filepath.Join(t.TempDir(), "document.xml")
	if err := os.WriteFile(file, document, 0o600); err != nil {
		t.Fatal(err)
	}
	out, theirs := exec.CommandContext(t.Context(), program, "--verify", "--trusted-pem", root, file).CombinedOutput()
	if (ours == nil) != (theirs == nil) {
		t.Errorf("the library says %v, xmlsec1 %v: %.500s", ours, theirs, out)
	}
	return ours
}
