package publish

import (
	"bytes"
	"crypto/rsa"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"github.com/beevik/etree"
	dsig "github.com/russellhaering/goxmldsig"

	"github.com/hazardd/hazardd/internal/auth/secret"
	"github.com/hazardd/hazardd/internal/net/listen/certificate"
)

// The limits of a key in bits: shorter ones are not secure any more, and the time to sign grows with
// at least the square of the length.
const (
	minBits = 2048
	maxBits = 4096
)

// XMLSigner signs XML documents with one key: an enveloped signature (XML Signature, section 3.1) as
// the last child of the document's element, as CAP 1.2 has it for alerts (section 3.3.4.1). It is safe
// for concurrent use.
//
// The same document and key give the same bytes on every node: RSA with PKCS #1 v1.5 and SHA-256, over
// exclusive canonical XML.
type XMLSigner struct {
	context *dsig.SigningContext
	leaf    *x509.Certificate
}

// OpenSigner reads a key and its certificate, followed by its intermediates, from PEM files. It refuses
// a key that others than its owner and group may read.
func OpenSigner(key, certificateFile string) (*XMLSigner, error) {
	if err := secret.Private(key, secret.NotOwnerOrGroup, "sign messages in our name"); err != nil {
		return nil, err
	}
	pair, _, err := certificate.Read(certificateFile, key)
	if err != nil {
		return nil, err
	}
	private, ok := pair.PrivateKey.(*rsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("%s is not an RSA key: signatures of other kinds differ each time", key)
	}
	if bits := private.N.BitLen(); bits < minBits || bits > maxBits {
		return nil, fmt.Errorf("%s is an RSA key of %d bits: it must have from %d to %d", key, bits, minBits, maxBits)
	}
	s := &XMLSigner{leaf: pair.Leaf}
	if s.context, err = dsig.NewSigningContext(private, pair.Certificate); err != nil {
		return nil, err
	}
	s.context.Canonicalizer = dsig.MakeC14N10ExclusiveCanonicalizerWithPrefixList("")
	return s, s.context.SetSignatureMethod(dsig.RSASHA256SignatureMethod)
}

// End returns when the certificate expires.
func (s *XMLSigner) End() time.Time { return s.leaf.NotAfter }

// Sign returns the document with a signature before the end tag of its element. The bytes before the
// signature are those of the document.
func (s *XMLSigner) Sign(document []byte) ([]byte, error) {
	tree := etree.NewDocument()
	if err := tree.ReadFromBytes(document); err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	at := bytes.LastIndex(document, []byte("</"))
	if tree.Root() == nil || at < 0 {
		return nil, errors.New("sign: the document has no element with content")
	}
	element, err := s.context.ConstructSignature(tree.Root(), true)
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	own := etree.NewDocumentWithRoot(element)
	own.WriteSettings.CanonicalEndTags = true
	text, err := own.WriteToBytes()
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	signed := make([]byte, 0, len(document)+len(text))
	return append(append(append(signed, document[:at]...), text...), document[at:]...), nil
}
