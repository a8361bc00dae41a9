package publish_test

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hazardd/hazardd/internal/tell/publish"
	"github.com/hazardd/hazardd/internal/test/signature"
)

var (
	authority = sync.OnceValue(func() crypto.Signer { return elliptical() })
	key2048   = sync.OnceValue(func() crypto.Signer { return rsaKey(2048) })
)

func rsaKey(bits int) crypto.Signer {
	k, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		panic(err)
	}
	return k
}

func elliptical() crypto.Signer {
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	return k
}

// documents contain what the canonical form writes differently from a document.
var documents = map[string]string{
	"plain":      `<?xml version="1.0" encoding="UTF-8"?>` + "\n" + `<alert xmlns="urn:oasis:names:tc:emergency:cap:1.2"><identifier>a.1</identifier></alert>` + "\n",
	"escaped":    `<alert xmlns="urn:oasis:names:tc:emergency:cap:1.2"><note>a &#34;b&#34; &amp; &lt;c&gt; ]]&gt; &#xA;line&#x9;tab&#xD; end</note></alert>`,
	"languages":  `<alert xmlns="urn:oasis:names:tc:emergency:cap:1.2"><info><headline>فيضان نهر تانا &#39;🌊&#39; é e&#x301;</headline></info></alert>`,
	"empty":      `<alert xmlns="urn:oasis:names:tc:emergency:cap:1.2"><references></references><incidents/><note> </note></alert>`,
	"attributes": `<alert xmlns="urn:x" xmlns:b="urn:b" z="1" a="&quot;'&lt;&#9;"><b:c xmlns:unused="urn:u" b:d="e"/></alert>`,
}

func TestASignatureIsGoodAndTheRestOfTheDocumentAsItWas(t *testing.T) {
	key, certificate, root := signature.KeyPair(t, key2048(), authority())
	s, err := publish.OpenSigner(key, certificate)
	if err != nil {
		t.Fatal(err)
	}
	for name, document := range documents {
		t.Run(name, func(t *testing.T) {
			signed, err := s.Sign([]byte(document))
			if err != nil {
				t.Fatal(err)
			}
			if err := signature.Verify(t, certificate, root, signed); err != nil {
				t.Errorf("the signature is not good: %v\n%.500s", err, signed)
			}
			from, to := bytes.Index(signed, []byte("<ds:Signature ")), bytes.Index(signed, []byte("</ds:Signature>"))+len("</ds:Signature>")
			if from < 0 || string(signed[:from])+string(signed[to:]) != document {
				t.Errorf("without the signature it is\n%s\nbefore it was\n%s", string(signed[:max(from, 0)])+string(signed[to:]), document)
			}
			again, err := publish.OpenSigner(key, certificate) // as on another node
			if err != nil {
				t.Fatal(err)
			}
			if other, err := again.Sign([]byte(document)); err != nil || !bytes.Equal(other, signed) {
				t.Errorf("signed again it is (%v)\n%s\nbefore it was\n%s", err, other, signed)
			}
		})
	}
}

func TestNoAlteredDocumentHasAGoodSignature(t *testing.T) {
	key, certificate, root := signature.KeyPair(t, key2048(), authority())
	_, other, stranger := signature.KeyPair(t, key2048(), elliptical())
	s, err := publish.OpenSigner(key, certificate)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := s.Sign([]byte(documents["plain"]))
	if err != nil {
		t.Fatal(err)
	}
	for _, alter := range [][2]string{{"a.1", "a.2"}, {"cap:1.2", "cap:1.1"}, {"</identifier>", "</identifier><note>more</note>"}, {"</identifier>", "</identifier> "}} {
		altered := strings.Replace(string(signed), alter[0], alter[1], 1)
		if err := signature.Verify(t, certificate, root, []byte(altered)); altered == string(signed) || err == nil {
			t.Errorf("the signature is good with %q for %q", alter[1], alter[0])
		}
	}
	if err := signature.Verify(t, other, stranger, signed); err == nil {
		t.Error("the signature is valid for a reader who trusts another authority")
	}
}

func TestKeysThatCannotSignAreRefused(t *testing.T) {
	key, certificate, _ := signature.KeyPair(t, key2048(), authority())
	curve, curveCertificate, _ := signature.KeyPair(t, elliptical(), authority())
	short, shortCertificate, _ := signature.KeyPair(t, rsaKey(1024), authority())
	long := filepath.Join(t.TempDir(), "long")
	if err := os.WriteFile(long, make([]byte, 1<<20+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ key, certificate, says string }{
		"no key":              {filepath.Join(t.TempDir(), "none"), certificate, "no such file"},
		"no certificate":      {key, filepath.Join(t.TempDir(), "none"), "no such file"},
		"another certificate": {key, shortCertificate, "does not match"},
		"of a curve":          {curve, curveCertificate, "is not an RSA key"},
		"short":               {short, shortCertificate, "1024 bits"},
		"exchanged":           {certificate, key, "run chmod 600"},
		"long":                {long, certificate, "more than"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := publish.OpenSigner(c.key, c.certificate); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %q", err, c.says)
			}
		})
	}
	for mode, good := range map[os.FileMode]bool{0o600: true, 0o400: true, 0o440: true, 0o640: true, 0o644: false, 0o604: false, 0o660: false, 0o602: false} {
		if err := os.Chmod(key, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := publish.OpenSigner(key, certificate); (err == nil) != good {
			t.Errorf("a key of mode %04o: %v", mode, err)
		}
	}
}

// A message in three languages with outlines of a thousand positions, about 70 kB.
func BenchmarkSign(b *testing.B) {
	for name, secret := range map[string]crypto.Signer{"2048": key2048(), "4096": rsaKey(4096)} {
		key, certificate, _ := signature.KeyPair(b, secret, authority())
		s, err := publish.OpenSigner(key, certificate)
		if err != nil {
			b.Fatal(err)
		}
		large := `<alert xmlns="urn:oasis:names:tc:emergency:cap:1.2">` + strings.Repeat("<info><polygon>"+strings.Repeat("10.123456,20.123456 ", 1000)+"</polygon></info>", 3) + "</alert>"
		for size, document := range map[string]string{"small": documents["plain"], "large": large} {
			b.Run(name+"/"+size, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := s.Sign([]byte(document)); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
